// SPDX-License-Identifier: Apache-2.0
#include "km3net/trigger/decisions.hpp"

namespace anello::km3net {
namespace {

/// Each buffer has room for all hits of a slice as L1, and for the same number again in events.
std::unique_ptr<MessageStore> make_store(MessageStoreConfig config, std::size_t n_doms, std::size_t max_hits,
                                         CounterPage& page) {
    if (config.path.empty()) return nullptr;
    config.buffer_bytes = n_doms * (2 * clb::hit_bytes * max_hits + 200);
    return std::make_unique<MessageStore>(config, page);
}

}  // namespace

Decisions::Decisions(const DecisionsConfig& config, std::span<const Dom> doms, SliceStore& slices, const Clock& clock,
                     CounterPage& page)
    : store_(make_store(config.store, doms.size(), slices.config().max_hits, page)),
      trigger_(config.trigger, doms, slices, store_.get(), clock, page) {}

std::vector<pipeline::Stage> Decisions::stages() {
    std::vector<pipeline::Stage> stages{trigger_.stage()};
    if (store_) stages.push_back(store_->stage());
    return stages;
}

}  // namespace anello::km3net

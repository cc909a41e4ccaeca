// SPDX-License-Identifier: Apache-2.0
#include "km3net/node.hpp"

namespace anello::km3net {
namespace {

/// Room for all hits of a slice as L1, and for as much again in events.
std::unique_ptr<MessageStore> make_store(const NodeConfig& config, CounterPage& page) {
    if (config.store.path.empty()) return nullptr;
    MessageStoreConfig store = config.store;
    store.detector = config.line.detector_id;
    store.buffer_bytes = std::size_t{config.line.n_doms} * (2 * clb::hit_bytes * config.build.max_hits + 200);
    return std::make_unique<MessageStore>(store, page);
}

}  // namespace

Node::Node(const NodeConfig& config, const Clock& clock)
    : n_slices_(config.n_slices),
      page_(config.counter_page),
      doms_(make_line(config.line)),
      builder_(config.build, doms_, clock, page_),
      intake_(receive::make_backend(config.backend, clock), builder_, config.backend.batch_datagrams, clock, page_),
      watch_(builder_),
      store_(make_store(config, page_)),
      trigger_(config.trigger, doms_, builder_, store_.get(), clock, page_) {
    std::vector<pipeline::Stage> stages{receive_stage(), trigger_.stage()};
    if (store_) stages.push_back(store_->stage());
    runner_.add({std::move(stages), config.threads, config.wait});
}

pipeline::Stage Node::receive_stage() {
    pipeline::Stage stage = intake_.stage();
    stage.add_notices = [this](pipeline::Notices& notices) {
        watch_.add_notices(notices);
        intake_.add_notices(notices);
    };
    stage.add_states = [this](pipeline::States& states) {
        watch_.add_states(states);
        intake_.add_states(states);
    };
    return stage;
}

bool Node::finished() const noexcept {
    const auto& counters = builder_.counters();
    return (n_slices_ > 0 && counters[SliceCounter::slices] + counters[SliceCounter::slices_missing] >= n_slices_) ||
           intake_.finished();
}

}  // namespace anello::km3net

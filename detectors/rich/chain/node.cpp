// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/node.hpp"

#include <utility>

namespace anello::rich {

Node::Node(const NodeConfig& config, const Clock& clock, Threads& threads)
    : config_(config),
      page_(config.page),
      decisions_(config, clock, page_),
      source_(make_event_source(config_, decisions_.batches(), decisions_.pool(), clock, page_)),
      runner_(clock, threads) {
    std::vector<pipeline::Stage> chain = source_->stages();
    for (pipeline::Stage& stage :
         decisions_.stages([this] { return decisions_.has_decided(source_->n_batches_out()); }))
        chain.push_back(std::move(stage));
    runner_.tell_in(page_);
    runner_.add({std::move(chain), config_.threads, config_.wait});
    probe_ = pipeline::add_probe(runner_, config.probe_share, config.threads, clock);
}

bool Node::finished() const noexcept {
    if (config_.n_bursts > 0 && decisions_.collector().n_bursts_ended() >= config_.n_bursts) return true;
    return source_->finished();
}

}  // namespace anello::rich

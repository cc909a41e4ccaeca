// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/node.hpp"

#include <utility>

namespace anello::rich {

Node::Node(const NodeConfig& config, const Clock& clock)
    : config_(config),
      page_(config.page),
      boards_(config.intake, config.build.first_board, clock, page_),
      decisions_(config, clock, page_),
      merger_(boards_.complete(config.build), boards_.blocks(), decisions_.batches(), decisions_.pool(), clock, page_) {
    std::vector<pipeline::Stage> chain{boards_.stage(merger_, config_.build.timeout_ns), build_stage()};
    for (pipeline::Stage& stage : decisions_.stages(
             [this] { return decisions_.has_decided(merger_.counters()[events::BuildCounter::batches_out]); }))
        chain.push_back(std::move(stage));
    runner_.tell_in(page_);
    runner_.add({std::move(chain), config_.threads, config_.wait});
    probe_ = pipeline::add_probe(runner_, config.probe_share, config.threads, clock);
}

pipeline::Stage Node::build_stage() {
    return {.name = "build",
            .do_work = [this](std::uint32_t) { return merger_.do_work(); },
            .has_input = [this](std::uint32_t) { return boards_.has_blocks(); },
            .longest_wait_ns = [this](std::uint32_t) { return merger_.longest_wait_ns(); },
            .drain = [this] { merger_.finish(); },
            .is_drained = [this] { return merger_.is_drained(); }};
}

bool Node::finished() const noexcept {
    if (config_.n_bursts > 0 && decisions_.collector().n_bursts_ended() >= config_.n_bursts) return true;
    return boards_.finished();
}

}  // namespace anello::rich

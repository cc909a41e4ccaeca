// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/node.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace anello::camera {

CameraNode::CameraNode(const CameraNodeConfig& config, const Clock& clock, Threads& threads)
    : n_runs_(config.n_runs),
      page_(config.page),
      boards_(config, make_intakes(config, clock, page_)),
      joiner_(config.join, boards_.builders(), clock, page_),
      outlet_(config.send, joiner_, config.build.shape, clock, page_),
      runner_(clock, threads) {
    std::vector<pipeline::Stage> stages{boards_.receive_stage(), boards_.build_stage()};
    std::ranges::move(
        outlet_.stages([this](std::uint32_t group) { return boards_.intake(group).builder().output().has_parts(); }),
        std::back_inserter(stages));
    runner_.tell_in(page_);
    runner_.add({std::move(stages), config.threads, config.wait});
    probe_ = pipeline::add_probe(runner_, config.probe_share, config.threads, clock);
}

bool CameraNode::finished() const noexcept {
    if (n_runs_ > 0 && joiner_.counters()[CameraJoinCounter::runs_ended] >= n_runs_) return true;
    return boards_.finished();
}

void CameraNode::for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) {
    for (CameraBuilder* builder : boards_.builders()) {
        const BoardRange boards = builder->config().boards;
        for (std::uint32_t board = boards.first; board < boards.first + boards.count; ++board)
            use(board, builder->close_sequence_log(board));
    }
}

}  // namespace anello::camera

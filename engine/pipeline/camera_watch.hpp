// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "build/camera_intake.hpp"
#include "pipeline/told.hpp"

namespace anello::pipeline {

/// Watches over the boards and ports of a camera's intakes, for the operator: who is silent, slow or somewhere
/// else than most, what the kernel dropped, how fragments are copied. Control thread.
class CameraWatch {
  public:
    /// The intakes must outlive it.
    explicit CameraWatch(std::vector<build::CameraIntake*> intakes);

    Notices notices();      ///< What changed since the last call, one line each.
    States states() const;  ///< Of each board, the backend and the memory.
    std::vector<std::uint16_t> ports() const;

  private:
    struct BoardSeen {
        SilenceNotice silence;
        AddedNotice dropped;
        bool slow = false;
        receive::TenfoldNotice strangers;
        std::uint64_t n_outvoted = 0;  ///< when it was last told
    };

    void add_board_notices(const build::CameraBuilder& builder, Notices& lines);
    void add_vote_notice(const build::CameraBuilder& builder, std::uint32_t board, Notices& lines);
    void add_copy_notice(const build::CameraBuilder& builder, Notices& lines);
    void add_port_notices(Notices& lines);

    std::vector<build::CameraIntake*> intakes_;
    std::map<std::uint32_t, BoardSeen> board_seen_;
    std::map<std::uint32_t, build::CopyMode> copy_seen_;  ///< by group
    struct PortSeen {
        AddedNotice kernel_dropped, blocks_dropped;
    };
    std::vector<PortSeen> port_seen_;
};

}  // namespace anello::pipeline

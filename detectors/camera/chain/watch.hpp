// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "camera/events/intake.hpp"
#include "pipeline/told.hpp"

namespace anello::camera {

/// Watches the boards and ports of a camera's intakes for the operator: which boards are silent, slow or at another
/// event than most, what the kernel dropped, how fragments are copied. The control thread calls it.
class CameraWatch {
  public:
    /// The intakes must outlive it.
    explicit CameraWatch(std::vector<CameraIntake*> intakes);

    pipeline::Notices notices();      ///< Changes since the last call, one line each.
    pipeline::States states() const;  ///< States of each board, the backend and the memory.
    std::vector<std::uint16_t> ports() const;

  private:
    struct BoardSeen {
        pipeline::SilenceNotice silence;
        pipeline::AddedNotice dropped;
        bool slow = false;
        receive::SpeakerNotices speakers;
        receive::ThrottledNotice conflicting;
        std::uint64_t n_outvoted = 0;  ///< the counter at the last notice
    };

    void add_board_notices(const CameraBuilder& builder, pipeline::Notices& lines);
    void add_vote_notice(const CameraBuilder& builder, std::uint32_t board, pipeline::Notices& lines);
    void add_late_notice(const CameraBuilder& builder, pipeline::Notices& lines);
    void add_copy_notice(const CameraBuilder& builder, pipeline::Notices& lines);
    void add_port_notices(pipeline::Notices& lines);

    std::vector<CameraIntake*> intakes_;
    std::map<std::uint32_t, BoardSeen> board_seen_;
    std::map<std::uint32_t, CopyMode> copy_seen_;                  ///< by group
    std::map<std::uint32_t, receive::ThrottledNotice> late_seen_;  ///< by group
    struct PortSeen {
        pipeline::AddedNotice kernel_dropped, blocks_dropped;
    };
    std::vector<PortSeen> port_seen_;
    pipeline::TroubleNotice trouble_;
};

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "camera/events/boards/votes.hpp"
#include "camera/events/builder/held_fragments.hpp"
#include "camera/events/builder/placer.hpp"
#include "camera/events/builder/runs.hpp"
#include "camera/events/counters.hpp"
#include "camera/wire/camera.hpp"
#include "core/clock.hpp"
#include "core/counters/counters.hpp"

namespace anello::camera {

/// Moves the builder to another run or to far event numbers when most boards are there. Hot path (all but the
/// constructor): no allocation, no lock, no log, no throw.
class CameraMoves {
  public:
    using Header = wire::camera::Header;

    CameraMoves(Nanoseconds timeout_ns, Counters<CameraBuildCounter> counters, CameraPlacer& placer, CameraRuns& runs,
                HeldFragments& held)
        : timeout_ns_(timeout_ns), counters_(counters), placer_(placer), runs_(runs), held_(held) {}

    /// Moves to the position `at` if most boards are there or, until most boards are in step here, more than are in
    /// step.
    void decide(CameraPosition at) noexcept;
    /// A single board neither ends a run nor begins one: its marker is only a claim to be in that run. An end marker
    /// counts only for a run that the board has claimed before.
    void use_marker_of_other_run(const Header& header, std::span<const std::byte> bytes) noexcept;
    /// Call it now and then: decides on claims that last, and takes the votes of silent boards.
    void watch_votes() noexcept;

  private:
    bool is_near(CameraPosition at) const noexcept;
    void move_to(CameraPosition at) noexcept;
    void move_window(CameraPosition to) noexcept;
    void silence_unheard(Nanoseconds since_ns) noexcept;

    Nanoseconds timeout_ns_;
    Counters<CameraBuildCounter> counters_;
    CameraPlacer& placer_;
    CameraRuns& runs_;
    HeldFragments& held_;
    Nanoseconds answered_ns_ = 0;  ///< the last request of a board for a move that the group has answered
    Nanoseconds weighed_ns_ = 0;   ///< when the claims were last decided on
};

}  // namespace anello::camera

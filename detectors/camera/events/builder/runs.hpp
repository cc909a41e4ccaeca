// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "camera/events/boards/votes.hpp"
#include "camera/events/builder/placer.hpp"
#include "camera/events/counters.hpp"
#include "core/clock.hpp"
#include "core/counters/counters.hpp"

namespace anello::camera {

/// Begins and ends the runs of a builder, and remembers the last ones. Hot path (all but the constructor): no
/// allocation, no lock, no log, no throw.
class CameraRuns {
  public:
    CameraRuns(Nanoseconds timeout_ns, Counters<CameraBuildCounter> counters, CameraPlacer& placer)
        : timeout_ns_(timeout_ns), counters_(counters), placer_(placer) {}

    void begin(CameraPosition at) noexcept;
    /// False if the consumer has yet to take the end of the previous run. A run that most boards never confirmed did
    /// not exist: its open events are discarded, unless some have been handed on.
    bool leave() noexcept;
    void end_if_over() noexcept;

    bool is_gone(std::uint32_t run_id) const noexcept;
    /// True for a position of an earlier run, or before those events of this run that are gone.
    bool is_back(CameraPosition at) noexcept;

  private:
    void begin_of_board(std::uint32_t board_index, std::uint32_t run_id) noexcept;
    bool is_over() noexcept;

    Nanoseconds timeout_ns_;
    Counters<CameraBuildCounter> counters_;
    CameraPlacer& placer_;
    std::array<std::uint32_t, 8> gone_{};
    std::size_t n_gone_ = 0;
    Nanoseconds ending_since_ns_ = 0;  ///< since when every board has ended its run or is silent; 0: not so
};

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "camera/events/boards/group_boards.hpp"
#include "camera/events/window/window.hpp"
#include "core/clock.hpp"

namespace anello::camera {

/// Finds the boards that the others have waited for longer than a time-out: they are silent. Hot path (all but the
/// constructor): no allocation, no lock, no log, no throw.
class SilenceWatch {
  public:
    enum class Judgement : std::uint8_t {
        none,    ///< the event does not wait for the board, or only since it became due
        waits,   ///< the others wait for the board since an earlier event
        silent,  ///< the others have waited for the board for longer than a time-out
    };

    SilenceWatch(Nanoseconds timeout_ns, Nanoseconds now_ns, GroupBoards& boards)
        : timeout_ns_(timeout_ns), due_ns_(now_ns), boards_(boards) {}

    /// An event became due: measures the usual interval.
    void note_due(Nanoseconds now_ns) noexcept;
    /// How long half of the boards may be quiet while others send: several times the usual interval.
    Nanoseconds patience_ns() const noexcept;

    /// Notes for the boards that an event pushed out early has waited for since when it waited.
    void note_waiting(const CameraWindow::Place& place) noexcept;
    /// True if the wait of an event that was pushed out may still last.
    bool is_waiting() const noexcept { return is_waiting_; }
    void set_waiting(bool is_waiting) noexcept { is_waiting_ = is_waiting; }
    /// The wait of events that were pushed out counts, too, as a window can be shorter than the time-out.
    Judgement judge(std::uint32_t board_index, const CameraWindow::Place& place, Nanoseconds input_ns) const noexcept;

  private:
    static constexpr Nanoseconds first_interval_ns = 125'000'000;  ///< assumed until the interval is measured

    Nanoseconds timeout_ns_;
    Nanoseconds due_ns_, mean_interval_ns_ = first_interval_ns;  ///< of the last due event; between two events
    bool is_waiting_ = false;
    GroupBoards& boards_;
};

}  // namespace anello::camera

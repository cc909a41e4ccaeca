// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "camera/events/boards/board.hpp"
#include "camera/events/boards/board_sequence.hpp"
#include "camera/events/boards/votes.hpp"
#include "camera/events/counters.hpp"
#include "camera/events/event.hpp"
#include "core/counters/counters.hpp"

namespace anello::camera {

/// A board's state as the builder publishes it for the watchdog.
struct CameraBoardStatus {
    events::BoardState state = events::BoardState::live;
    bool is_slow = false;  ///< it missed more than half of the events of the last half second
    std::uint64_t silences = 0;
    Nanoseconds last_seen_ns = 0;  ///< monotonic clock; 0: never
    double rate_hz = 0;            ///< rate of fragments placed in the last half second
    bool is_outvoted = false;      ///< it claims another position for the camera, as fewer than half of the boards do
    CameraPosition claim;          ///< the position that it claims, if is_outvoted
};

/// The boards of one group: which of them events wait for, what each has sent, and their counters, which show() updates
/// now and then. A board's index is its number less that of the group's first board. Hot path, all but the constructor
/// and the functions for any thread: no allocation, no lock, no log, no throw.
class GroupBoards {
  public:
    /// Counters are added to `page` as "build.board<b>".
    GroupBoards(BoardRange range, Nanoseconds now_ns, CounterPage& page);

    std::uint32_t count() const noexcept { return range_.count; }
    bool contains(std::uint32_t board) const noexcept { return range_.contains(board); }
    std::uint32_t index_of(std::uint32_t board) const noexcept { return board - range_.first; }
    std::uint32_t number_of(std::uint32_t index) const noexcept { return range_.first + index; }
    CameraBoard& operator[](std::uint32_t index) noexcept { return boards_[index]; }
    const CameraBoard& operator[](std::uint32_t index) const noexcept { return boards_[index]; }
    BoardSequence& sequence(std::uint32_t index) noexcept { return sequences_[index]; }
    Counters<CameraBoardCounter>& counters(std::uint32_t index) noexcept { return counters_[index]; }

    /// False if this sequence number has arrived before.
    bool follow(std::uint32_t index, std::uint32_t sequence) noexcept {
        if (boards_[index].continues(sequence)) [[likely]]
            return true;
        return sequences_[index].accept(boards_[index], sequence);
    }
    /// Number of boards whose fragment of this event is waited for.
    std::uint16_t count_waited_for(std::uint32_t number) const noexcept;
    std::uint32_t n_live() const noexcept { return n_live_; }
    std::uint32_t n_ended() const noexcept { return n_ended_; }
    void set_wait(std::uint32_t index, BoardWait wait) noexcept;
    /// True if, by the boards' end markers, no fragment of this run is still to come.
    bool have_sent_all() noexcept;

    void count_missing(const BoardSet& present) noexcept;
    void show_if_due(Nanoseconds now_ns, std::uint64_t n_events_out) noexcept;
    void show(Nanoseconds now_ns) noexcept;

    /// Any thread.
    CameraBoardStatus status(std::uint32_t index) const noexcept;
    const Counters<CameraBoardCounter>& counters(std::uint32_t index) const noexcept { return counters_[index]; }

  private:
    struct Rate {
        std::uint64_t n_missing = 0, n_missing_shown = 0, n_placed_shown = 0;
        std::atomic<float> rate_hz{0};
        std::atomic<bool> is_slow{false};
    };

    void show_rates(Nanoseconds now_ns, std::uint64_t n_events_out) noexcept;

    BoardRange range_;
    std::uint32_t n_live_, n_ended_ = 0;
    std::unique_ptr<CameraBoard[]> boards_;
    std::unique_ptr<BoardSequence[]> sequences_;
    std::unique_ptr<Rate[]> rates_;
    std::vector<Counters<CameraBoardCounter>> counters_;
    Nanoseconds shown_ns_, rates_shown_ns_;
    std::uint64_t events_out_at_rates_ = 0;
};

}  // namespace anello::camera

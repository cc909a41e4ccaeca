// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "camera/events/builder/votes.hpp"
#include "core/clock.hpp"
#include "events/build_counters.hpp"
#include "receive/numbers/sequence_tracker.hpp"
#include "receive/numbers/source_binding.hpp"

namespace anello::camera {

/// What the watchdog learns about a board.
struct CameraBoardStatus {
    events::BoardState state = events::BoardState::live;
    bool is_slow = false;  ///< missed more than half of the last half second's events
    std::uint64_t silences = 0;
    Nanoseconds last_seen_ns = 0;  ///< monotonic clock; 0: never
    double rate_hz = 0;            ///< fragments placed, over the last half second
    bool is_outvoted = false;      ///< says that the camera is elsewhere, and fewer than half say so too:
    CameraPosition claim;          ///< there
};

/// What the builder knows of one board, as far as each fragment touches it: one cache line.
struct alignas(64) CameraBoard {
    std::atomic<Nanoseconds> last_seen_ns{0};
    Nanoseconds waited_since_ns = 0;  ///< an event that waited for this board was pushed out; 0: none since it sent
    std::uint64_t n_placed = 0;
    std::uint32_t newest_event = 0;   ///< of those placed in this run, when has_event
    std::uint32_t end_event = 0;      ///< state ended: the event after its last
    std::uint32_t next_sequence = 0;  ///< when in_sequence: that of the next fragment,
    std::uint32_t n_in_sequence = 0;  ///< and how many before it the tracker has not been told yet
    std::atomic<events::BoardState> state{events::BoardState::live};
    bool has_event = false;
    bool in_sequence = false;
    bool is_apart = true;           ///< not in step with its group, or fragments of it are held
    receive::SourceBinding source;  ///< who speaks for it
};
static_assert(sizeof(CameraBoard) == 64);

/// The rest. PERF NOTE: fragments in sequence are counted in CameraBoard and told to the tracker many at a time; its
/// lines would have to be fetched for each (camera_receive: 50 ns per datagram).
struct CameraBoardHistory {
    CameraBoardHistory() { sequence.write_to(log); }
    CameraBoardHistory(const CameraBoardHistory&) = delete;
    CameraBoardHistory& operator=(const CameraBoardHistory&) = delete;

    receive::SequenceLog log{4096, 64};
    receive::SourceWatch source_watch;
    receive::SequenceTracker sequence_before_source;  ///< as it was when the board was bound to its source,
    std::uint64_t n_placed_before_source = 0;         ///< and how many fragments had been placed
    receive::SequenceTracker sequence;
    std::uint32_t stray_sequence = 0;
    bool has_stray = false;  ///< a fragment was used though its sequence number is not confirmed yet
    BoardVote vote = BoardVote::nothing;
    CameraPosition claim;                       ///< where it says that the camera is, when elsewhere,
    Nanoseconds claimed_since_ns = 0;           ///< since when,
    Nanoseconds claimed_ns = 0;                 ///< and when last; 0: never
    std::atomic<std::uint64_t> shown_claim{0};  ///< the same for other threads: run and event number
    std::atomic<bool> is_outvoted{false};
    std::uint32_t unused_run = 0;                       ///< a run of which fragments of this board were dropped:
    std::uint64_t n_unused = 0;                         ///< how many;
    std::uint64_t n_not_lost = 0;                       ///< once it is this run: the tracker misses them, but they came
    std::uint64_t announced = 0, announced_before = 0;  ///< in this run, in those before
    std::uint64_t n_placed_shown = 0, n_missing = 0, n_missing_shown = 0;
    std::atomic<float> rate_hz{0};
    std::atomic<bool> is_slow{false};
};

}  // namespace anello::camera

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

/// The part of a board's state that the builder needs for each fragment: one cache line.
struct alignas(64) CameraBoard {
    std::atomic<Nanoseconds> last_seen_ns{0};
    Nanoseconds waited_since_ns = 0;  ///< when the first event pushed out without it became due; 0: none since it sent
    std::uint64_t n_placed = 0;
    std::uint32_t newest_event = 0;   ///< its newest event placed in this run; valid if has_event
    std::uint32_t end_event = 0;      ///< in state ended: the event after its last
    std::uint32_t next_sequence = 0;  ///< sequence number of its next fragment; valid if in_sequence
    std::uint32_t n_in_sequence = 0;  ///< fragments before next_sequence not yet passed to the tracker
    std::atomic<events::BoardState> state{events::BoardState::live};
    bool has_event = false;
    bool in_sequence = false;
    bool is_apart = true;           ///< it is not in step with its group, or some of its fragments are held
    receive::SourceBinding source;  ///< the source address accepted for this board
};
static_assert(sizeof(CameraBoard) == 64);

/// The rest of a board's state. PERF NOTE: CameraBoard counts fragments in sequence and passes many at a time to the
/// tracker, whose cache lines would otherwise be fetched for each (camera_receive: 50 ns per datagram).
struct CameraBoardHistory {
    CameraBoardHistory() { sequence.write_to(log); }
    CameraBoardHistory(const CameraBoardHistory&) = delete;
    CameraBoardHistory& operator=(const CameraBoardHistory&) = delete;

    receive::SequenceLog log{4096, 64};
    receive::SourceWatch source_watch;
    receive::SequenceTracker sequence_before_source;  ///< `sequence` when the board was bound to its source
    std::uint64_t n_placed_before_source = 0;         ///< fragments placed when the board was bound to its source
    receive::SequenceTracker sequence;
    std::uint32_t stray_sequence = 0;
    bool has_stray = false;  ///< a fragment was used although its sequence number is not confirmed yet
    BoardVote vote = BoardVote::nothing;
    CameraPosition claim;                       ///< position of the camera that it claims, with vote elsewhere
    Nanoseconds claimed_since_ns = 0;           ///< when it first made this claim
    Nanoseconds claimed_ns = 0;                 ///< when it last made this claim; 0: never
    std::atomic<std::uint64_t> shown_claim{0};  ///< the claim for other threads: run and event number
    std::atomic<bool> is_outvoted{false};
    std::uint32_t unused_run = 0;                       ///< a run from which fragments of this board were dropped
    std::uint64_t n_unused = 0;                         ///< number of those dropped fragments
    std::uint64_t n_not_lost = 0;                       ///< n_unused of this run: the tracker counts them as lost
    std::uint64_t announced = 0, announced_before = 0;  ///< fragments announced in this run; in earlier runs
    std::uint64_t n_placed_shown = 0, n_missing = 0, n_missing_shown = 0;
    std::atomic<float> rate_hz{0};
    std::atomic<bool> is_slow{false};
};

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "camera/events/event.hpp"
#include "core/clock.hpp"
#include "events/build_counters.hpp"
#include "receive/numbers/sequence_tracker.hpp"
#include "receive/numbers/source_binding.hpp"

namespace anello::camera {

/// The events that wait for a board: all while it is live, those before end_event once it has ended its run, none while
/// it is silent.
struct BoardWait {
    events::BoardState state = events::BoardState::live;
    std::uint32_t end_event = 0;  ///< in state ended: the event after its last

    bool includes(std::uint32_t number) const noexcept {
        return state == events::BoardState::live ||
               (state == events::BoardState::ended && is_before(number, end_event));
    }
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

    static constexpr std::uint32_t counted_at_once = receive::SequenceTracker::window / 4;

    bool is_live() const noexcept { return state.load(std::memory_order_relaxed) == events::BoardState::live; }
    BoardWait wait() const noexcept { return {state.load(std::memory_order_relaxed), end_event}; }
    bool is_waited_for(std::uint32_t number) const noexcept { return wait().includes(number); }
    /// True if this is its next number. PERF NOTE: fragments in sequence are counted here, and passed many at a time to
    /// the tracker, whose cache lines would otherwise be fetched for each (camera_receive: 50 ns per datagram).
    bool continues(std::uint32_t sequence) noexcept {
        if (!in_sequence || sequence != next_sequence || n_in_sequence >= counted_at_once) [[unlikely]]
            return false;
        ++next_sequence;
        ++n_in_sequence;
        return true;
    }
    void note_seen(Nanoseconds now_ns) noexcept {
        last_seen_ns.store(now_ns, std::memory_order_relaxed);
        waited_since_ns = 0;
    }
    void note_placed(std::uint32_t number) noexcept {
        ++n_placed;
        if (!has_event || is_before(newest_event, number)) newest_event = number;
        has_event = true;
    }
    /// True if the board has sent after this time, or a later event than this, perhaps in the same read.
    bool has_sent_since(Nanoseconds since_ns, std::uint32_t number) const noexcept {
        return last_seen_ns.load(std::memory_order_relaxed) > since_ns ||
               (has_event && is_before(number, newest_event));
    }
};
static_assert(sizeof(CameraBoard) == 64);

}  // namespace anello::camera

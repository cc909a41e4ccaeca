// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace anello::simulate {

/// An object that receives events at set times.
class Actor {
  public:
    virtual ~Actor() = default;
    /// `what`: the value that was given to World::at().
    virtual void on_event(std::uint64_t what) noexcept = 0;
};

/// Virtual time and its pending events. They happen one after another; those of one time in the order in which they
/// were requested. No thread and no real clock: the run depends only on the requested events.
class World final : public Clock {
  public:
    /// Far above 0, as with real clocks, so that times before the begin can be expressed.
    static constexpr Nanoseconds begin_ns = 1'000'000'000;
    /// Offset of the wall clock from the monotonic one.
    static constexpr Nanoseconds wall_offset_ns = 1'700'000'000'000'000'000;

    Nanoseconds monotonic_ns() const noexcept override { return now_ns_; }
    Nanoseconds wall_ns() const noexcept override { return now_ns_ + wall_offset_ns; }

    /// Requests an event; not before now. The actor must live until then.
    void at(Nanoseconds when_ns, Actor& actor, std::uint64_t what);
    bool step() noexcept;  ///< Handles the next event; false: there is none.
    /// Handles all events up to this time, which then is the present time.
    void run_until(Nanoseconds until_ns) noexcept;

    std::uint64_t n_events() const noexcept { return n_events_; }
    /// Digest of all events, their times and their order: two runs with equal digests were the same.
    std::uint64_t digest() const noexcept { return digest_; }

  private:
    struct Event {
        Nanoseconds when_ns;
        std::uint64_t number;
        Actor* actor;
        std::uint64_t what;
        /// For a heap with the earliest event in front.
        bool operator<(const Event& other) const noexcept {
            return when_ns != other.when_ns ? when_ns > other.when_ns : number > other.number;
        }
    };

    // PERF NOTE: events that are due soon lie in a ring of short times, later ones in one heap: for 500 nodes, with one
    // heap for all, a third of the time was spent on the heap.
    static constexpr std::size_t n_times = 4096;
    static constexpr unsigned time_bits = 6;  ///< each 64 ns long
    static constexpr std::size_t word_bits = 64;

    using Heap = std::vector<Event>;
    static std::uint64_t time_of(Nanoseconds when_ns) noexcept {
        return static_cast<std::uint64_t>(when_ns) >> time_bits;
    }
    void put_into_ring(const Event& event);
    void take_from_later() noexcept;
    Heap* first() noexcept;

    Nanoseconds now_ns_ = begin_ns;
    std::uint64_t n_put_down_ = 0, n_events_ = 0, digest_ = 0;
    std::uint64_t time_ = time_of(begin_ns);                    ///< the ring's first time; its events are a heap
    std::vector<Heap> ring_ = std::vector<Heap>(n_times);       ///< by time, modulo
    std::array<std::uint64_t, n_times / word_bits> is_used_{};  ///< a bit for each time with events
    Heap later_;
};

}  // namespace anello::simulate

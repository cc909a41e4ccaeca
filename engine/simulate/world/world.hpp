// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace anello::simulate {

/// Something to which things happen at a time.
class Actor {
  public:
    virtual ~Actor() = default;
    /// `what`: as it was given to World::at().
    virtual void on_event(std::uint64_t what) noexcept = 0;
};

/// Virtual time, and what is to happen in it: one thing after another, those of one time in the order in which they
/// were put down. No thread, no real clock: what happens is a function of what was put down.
class World final : public Clock {
  public:
    /// Long after 0, as clocks are, so that times before the begin can be told.
    static constexpr Nanoseconds begin_ns = 1'000'000'000;
    /// Of the wall clock against the monotonic one.
    static constexpr Nanoseconds wall_offset_ns = 1'700'000'000'000'000'000;

    Nanoseconds monotonic_ns() const noexcept override { return now_ns_; }
    Nanoseconds wall_ns() const noexcept override { return now_ns_ + wall_offset_ns; }

    /// Not before now. The actor must live until then.
    void at(Nanoseconds when_ns, Actor& actor, std::uint64_t what);
    bool step() noexcept;                           ///< The next thing; false: there is none.
    void run_until(Nanoseconds until_ns) noexcept;  ///< All that is put down for up to then; then it is that time.

    std::uint64_t n_events() const noexcept { return n_events_; }
    /// Of everything that happened, when and in which order: two runs with one digest were the same.
    std::uint64_t digest() const noexcept { return digest_; }

  private:
    struct Event {
        Nanoseconds when_ns;
        std::uint64_t number;
        Actor* actor;
        std::uint64_t what;
        /// For a heap with the earliest in front.
        bool operator<(const Event& other) const noexcept {
            return when_ns != other.when_ns ? when_ns > other.when_ns : number > other.number;
        }
    };

    // PERF NOTE: what is to happen soon lies in a ring of short times, and what is later in one heap: of 500 nodes,
    // with one heap for all, a third of the time went into that.
    static constexpr std::size_t n_times = 4096;
    static constexpr unsigned time_bits = 6;  ///< each 64 ns
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
    std::uint64_t time_ = time_of(begin_ns);                    ///< of the ring's first; its events are a heap
    std::vector<Heap> ring_ = std::vector<Heap>(n_times);       ///< by time, modulo
    std::array<std::uint64_t, n_times / word_bits> is_used_{};  ///< a bit for each
    Heap later_;
};

}  // namespace anello::simulate

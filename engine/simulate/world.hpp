// SPDX-License-Identifier: Apache-2.0
#pragma once

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

    Nanoseconds monotonic_ns() const noexcept override { return now_ns_; }
    Nanoseconds wall_ns() const noexcept override { return now_ns_ + wall_offset_ns; }

    /// Not before now. The actor must live until then.
    void at(Nanoseconds when_ns, Actor& actor, std::uint64_t what);
    bool step() noexcept;                           ///< The next thing; false: there is none.
    void run_until(Nanoseconds until_ns) noexcept;  ///< All up to then; then it is that time.

    std::uint64_t n_events() const noexcept { return n_events_; }
    /// Of everything that happened, when and in which order: two runs with one digest were the same.
    std::uint64_t digest() const noexcept { return digest_; }

  private:
    static constexpr Nanoseconds wall_offset_ns = 1'700'000'000'000'000'000;
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

    Nanoseconds now_ns_ = begin_ns;
    std::uint64_t n_put_down_ = 0, n_events_ = 0, digest_ = 0;
    std::vector<Event> heap_;
};

}  // namespace anello::simulate

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/clock.hpp"

namespace anello {

/// What a thread reports about itself: whether it runs, the share of time in which it works, and its longest step, for
/// the whole run and for the last one to two seconds. Only that thread writes, anyone may read. Times are of the
/// monotonic clock.
class ThreadCell {
  public:
    struct Told {
        bool runs;
        Nanoseconds seen_ns;     ///< end of its last step
        double busy, busy_last;  ///< shares of the run, and of the last one to two seconds
        Nanoseconds longest_ns, longest_last_ns;
    };

    void begin(Nanoseconds now_ns) noexcept;
    void end(Nanoseconds now_ns) noexcept;
    // Hot path: no allocation, no lock, no log, no throw. Called after each step and after each wait.
    void came_by(Nanoseconds now_ns, bool has_worked) noexcept {
        const Nanoseconds step_ns = now_ns - of(seen_ns_);
        put(seen_ns_, now_ns);
        Second& second = seconds_[of(n_turns_) % 2];
        if (has_worked) {
            put(busy_ns_, of(busy_ns_) + step_ns);
            if (step_ns > of(longest_ns_)) put(longest_ns_, step_ns);
            if (step_ns > of(second.longest_ns)) put(second.longest_ns, step_ns);
        }
        if (now_ns - of(second.begin_ns) >= second_ns) turn(now_ns);
    }
    Told told() const noexcept;

  private:
    static constexpr Nanoseconds second_ns = 1'000'000'000;
    struct Second {
        std::atomic<Nanoseconds> begin_ns{0}, busy_before_ns{0}, longest_ns{0};
    };
    template <typename T>
    static T of(const std::atomic<T>& cell) noexcept {
        return cell.load(std::memory_order_relaxed);
    }
    template <typename T>
    static void put(std::atomic<T>& cell, T value) noexcept {
        cell.store(value, std::memory_order_relaxed);
    }
    void turn(Nanoseconds now_ns) noexcept;

    std::atomic<std::uint64_t> runs_{0};
    std::atomic<Nanoseconds> began_ns_{0}, seen_ns_{0}, busy_ns_{0}, longest_ns_{0};
    std::atomic<std::uint64_t> n_turns_{0};
    std::array<Second, 2> seconds_{};
};

}  // namespace anello

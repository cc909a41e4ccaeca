// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

namespace anello {

using Nanoseconds = std::int64_t;

/// Timestamps of boards count ticks of the "25 ns" clock (40.0786 MHz, the SPS' own), fine time divides a tick by 256.
inline constexpr double tick_ns = 24.950971341;
inline constexpr double fine_time_ns = tick_ns / 256.0;

/// Two clocks, because two questions are asked. monotonic_ns() times waits and gathering; it never steps.
/// wall_ns() (CLOCK_REALTIME) stamps data, because the kernel's receive stamps and other machines use it.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual Nanoseconds monotonic_ns() const noexcept = 0;
    virtual Nanoseconds wall_ns() const noexcept = 0;
};

class SystemClock final : public Clock {
  public:
    Nanoseconds monotonic_ns() const noexcept override;
    Nanoseconds wall_ns() const noexcept override;
    static const SystemClock& instance() noexcept;
};

/// For tests: time moves only when told to. Both clocks read the same.
class ManualClock final : public Clock {
  public:
    explicit ManualClock(Nanoseconds start_ns = 0) noexcept : now_ns_(start_ns) {}
    Nanoseconds monotonic_ns() const noexcept override { return now_ns_.load(std::memory_order_relaxed); }
    Nanoseconds wall_ns() const noexcept override { return now_ns_.load(std::memory_order_relaxed); }
    void advance(Nanoseconds step_ns) noexcept { now_ns_.fetch_add(step_ns, std::memory_order_relaxed); }
    void set(Nanoseconds now_ns) noexcept { now_ns_.store(now_ns, std::memory_order_relaxed); }

  private:
    std::atomic<Nanoseconds> now_ns_;
};

/// A wall-clock time that somebody else told: within a day of this clock. One of another day is from a file, and
/// farther times overflow where they are counted with.
constexpr bool is_credible(Nanoseconds told_ns, Nanoseconds now_ns) noexcept {
    constexpr Nanoseconds day_ns = 86'400'000'000'000;
    return told_ns > now_ns - day_ns && told_ns < now_ns + day_ns;
}

/// Of what several clocks say, since one may be wrong; 0 where none says anything. Changes their order.
inline Nanoseconds middle_of(std::span<Nanoseconds> told) noexcept {
    if (told.empty()) return 0;
    const auto middle = told.begin() + static_cast<std::ptrdiff_t>(told.size() / 2);
    std::nth_element(told.begin(), middle, told.end());
    return *middle;
}

}  // namespace anello

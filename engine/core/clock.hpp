// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

namespace anello {

using Nanoseconds = std::int64_t;

/// A board's timestamps count ticks of the "25 ns" clock (40.0786 MHz, from the SPS). The fine time divides a tick by
/// 256.
inline constexpr double tick_ns = 24.950971341;
inline constexpr double fine_time_ns = tick_ns / 256.0;

/// Two clocks for two purposes. monotonic_ns() never steps and times waits and gathering. wall_ns() (CLOCK_REALTIME)
/// stamps data, because the kernel's receive stamps and other machines use it.
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

/// For tests: time moves only when the test moves it. Both clocks return the same time.
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

/// True if a wall-clock time from another program or machine is within a day of this clock. Times of another day come
/// from recorded files, and differences to arbitrary times could overflow.
constexpr bool is_credible(Nanoseconds stamp_ns, Nanoseconds now_ns) noexcept {
    constexpr Nanoseconds day_ns = 86'400'000'000'000;
    return stamp_ns > now_ns - day_ns && stamp_ns < now_ns + day_ns;
}

/// The median of several clocks' times, because one clock may be wrong; 0 if there are none. Reorders `values`.
inline Nanoseconds middle_of(std::span<Nanoseconds> values) noexcept {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace anello

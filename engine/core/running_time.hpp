// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/clock.hpp"

namespace anello {

/// Time as a stage lives through it, for time-outs: from one look at the clock to the next at most a millisecond
/// passes, since a stage that works or waits looks more often. What is more is time in which the stage itself stood
/// still (a stopped process, a busy core, a paused machine): whatever it waits for may have come meanwhile and lie
/// before it, so that nobody was silent. Look before each step, whether it waits or not.
class RunningTime {
  public:
    static constexpr Nanoseconds longest_step_ns = 1'000'000;

    explicit RunningTime(Nanoseconds now_ns) noexcept : looked_ns_(now_ns), time_ns_(now_ns) {}

    /// Returns this time, which is never ahead of the clock.
    Nanoseconds look(Nanoseconds now_ns) noexcept {
        time_ns_ += std::clamp(now_ns - looked_ns_, Nanoseconds{0}, longest_step_ns);
        looked_ns_ = now_ns;
        return time_ns_;
    }
    /// All that came until then has been looked at.
    void catch_up(Nanoseconds until_ns) noexcept { time_ns_ = std::max(time_ns_, until_ns); }
    Nanoseconds now_ns() const noexcept { return time_ns_; }

  private:
    Nanoseconds looked_ns_, time_ns_;
};

}  // namespace anello

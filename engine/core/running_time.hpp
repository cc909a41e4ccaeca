// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/clock.hpp"

namespace anello {

/// The running time of a stage, for time-outs: at most a millisecond is counted from one look at the clock to the next,
/// since a stage that works or waits looks more often. A longer gap is time in which the stage itself was suspended
/// (a stopped process, a busy core, a paused machine): what it waits for may have arrived meanwhile and still be
/// unread, so that no peer was silent. Look before each step, whether it waits or not.
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
    /// Everything that arrived until then has been looked at.
    void catch_up(Nanoseconds until_ns) noexcept { time_ns_ = std::max(time_ns_, until_ns); }
    Nanoseconds now_ns() const noexcept { return time_ns_; }

  private:
    Nanoseconds looked_ns_, time_ns_;
};

}  // namespace anello

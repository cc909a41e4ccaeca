// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/clock.hpp"

namespace anello::publish {

inline constexpr Nanoseconds stall_ns = 5'000'000'000;  ///< a subscriber that is only slow has room more often

/// Detects that there has been no room for so many seconds that the operator should know. The publishing thread reports
/// its observations, the control thread reads.
class StallWatch {
  public:
    // Hot path: no allocation, no lock, no log, no throw.
    void note_full(Nanoseconds now_ns) noexcept {
        if (!is_full_) since_ns_ = now_ns;
        is_full_ = true;
        full_for_ns_.store(now_ns - since_ns_, std::memory_order_relaxed);  // nothing is ordered by it
    }
    void note_room() noexcept {
        if (!is_full_) return;
        is_full_ = false;
        full_for_ns_.store(0, std::memory_order_relaxed);
    }

    /// Returns true once for each stall.
    bool is_news() noexcept {
        const bool is_stalled = full_for_ns_.load(std::memory_order_relaxed) >= stall_ns;
        const bool is_new = is_stalled && !is_reported_;
        is_reported_ = is_stalled;
        return is_new;
    }

  private:
    bool is_full_ = false;  ///< this and the next are the publishing thread's
    Nanoseconds since_ns_ = 0;
    std::atomic<Nanoseconds> full_for_ns_{0};
    bool is_reported_ = false;  ///< the control thread's
};

}  // namespace anello::publish

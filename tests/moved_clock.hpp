// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/clock.hpp"

namespace anello::test {

/// Real time, which can be moved on: for a deadline that is to pass while threads or processes run by
/// themselves.
class MovedClock final : public Clock {
  public:
    Nanoseconds monotonic_ns() const noexcept override { return real().monotonic_ns() + moved_ns_.load(); }
    Nanoseconds wall_ns() const noexcept override { return real().wall_ns() + moved_ns_.load(); }
    void move(Nanoseconds by_ns) noexcept { moved_ns_ += by_ns; }

  private:
    static const Clock& real() noexcept { return SystemClock::instance(); }
    std::atomic<Nanoseconds> moved_ns_{0};
};

}  // namespace anello::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "source/random.hpp"

namespace anello::rich {

/// Times of a Poisson process with dead time: each gap is the dead time plus an exponential, with a mean of 1 / rate.
/// They are in 1/256 ticks since the start of the burst.
class EventTimes {
  public:
    /// There are no events in the first ticks, so that no hit is before the burst.
    static constexpr std::uint64_t first_fine = 64 * 256;

    EventTimes(double rate_hz, std::uint32_t dead_time_ticks, source::Random random) noexcept
        : dead_fine_(std::uint64_t{dead_time_ticks} * 256),
          mean_live_fine_(1e9 / (rate_hz * fine_time_ns) - static_cast<double>(dead_fine_)),
          random_(random) {}

    // Hot path: no allocation, no lock, no log, no throw.
    void begin_burst() noexcept {
        next_fine_ = first_fine;
        advance();
    }
    std::uint64_t next_fine() const noexcept { return next_fine_; }
    void advance() noexcept {
        next_fine_ += dead_fine_ + static_cast<std::uint64_t>(mean_live_fine_ * random_.exponential() + 0.5);
    }

  private:
    std::uint64_t dead_fine_;
    double mean_live_fine_;
    source::Random random_;
    std::uint64_t next_fine_ = first_fine;
};

}  // namespace anello::rich

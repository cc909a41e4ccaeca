// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "source/random.hpp"

namespace anello::camera {

/// Times of triggers in ns since the start of the run: a Poisson process, or one per period. They rise strictly.
class CameraTimes {
  public:
    CameraTimes(double rate_hz, bool poisson, source::Random random) noexcept
        : mean_ns_(1e9 / rate_hz), poisson_(poisson), random_(random) {
        advance();
    }

    // Hot path: no allocation, no lock, no log, no throw.
    std::uint64_t next_ns() const noexcept { return next_ns_; }
    void advance() noexcept {
        exact_ns_ += poisson_ ? mean_ns_ * random_.exponential() : mean_ns_;
        const auto rounded_ns = static_cast<std::uint64_t>(exact_ns_ + 0.5);
        next_ns_ = rounded_ns > next_ns_ ? rounded_ns : next_ns_ + 1;
    }

  private:
    double mean_ns_;
    bool poisson_;
    source::Random random_;
    double exact_ns_ = 0;
    std::uint64_t next_ns_ = 0;
};

}  // namespace anello::camera

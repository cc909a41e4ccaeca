// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace anello::camera {

/// Coefficients are held in sixteenths of a count.
inline constexpr std::int32_t parts_per_count = 16;

/// Excess of a cell's reading over its baseline, which falls with the time dt since the cell was last read:
/// scale * ((dt / t0)^-exponent - 1) counts for dt < t0, else 0. Defaults: the first LST at 20 degC (ctapipe_io_lst
/// 0.31.1, calibration.py, values of Y. Kobayashi, 2020).
struct TimeLapseLaw {
    double scale_counts = 11.9, exponent = 0.22, t0_ms = 103.012;

    bool operator==(const TimeLapseLaw&) const = default;
    double counts(double dt_ms) const noexcept {
        return dt_ms < t0_ms ? scale_counts * (std::pow(dt_ms / t0_ms, -exponent) - 1) : 0.0;
    }
};

/// The law as a table: 128 points for each factor of two in time, with linear interpolation between them. It is within
/// 0.04 counts of the law. Times are in steps of four ticks of the board's clock, 30 ns.
class TimeLapseTable {
  public:
    static constexpr std::uint32_t ticks_per_step = 4;
    static constexpr double steps_per_ms = 1e6 / 7.5 / ticks_per_step;
    static constexpr double longest_t0_ms = 30'000;  ///< far below 2^32 steps, where the count of steps wraps

    explicit TimeLapseTable(const TimeLapseLaw& law)
        : end_steps_(static_cast<std::uint32_t>(std::ceil(law.t0_ms * steps_per_ms))) {
        for (std::uint32_t i = 0; i < points_.size(); ++i) {
            const double steps = std::bit_cast<float>((i + first_point) << shift);
            const double parts = parts_per_count * law.counts(steps / steps_per_ms);
            points_[i] = static_cast<float>(std::clamp(parts, -most_parts, most_parts));
        }
    }

    std::uint32_t end_steps() const noexcept { return end_steps_; }
    /// Excess in sixteenths of a count. steps: time since the cell was last read, below end_steps(); 0 counts as 1.
    std::int32_t parts(std::uint32_t steps) const noexcept {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::max(steps, 1U)));
        const std::uint32_t i = (bits >> shift) - first_point;
        const float part = static_cast<float>(bits & ((1U << shift) - 1)) * (1.0F / (1U << shift));
        return static_cast<std::int32_t>(std::lrint(points_[i] + part * (points_[i + 1] - points_[i])));
    }

  private:
    static constexpr std::uint32_t shift = 23 - 7;                      // 7 of a float's 23 bits select the point
    static constexpr std::uint32_t first_point = 127U << (23 - shift);  // 1.0
    static constexpr double most_parts = 65536.0 * parts_per_count;
    std::array<float, (32U << 7) + 2> points_;
    std::uint32_t end_steps_;
};

}  // namespace anello::camera

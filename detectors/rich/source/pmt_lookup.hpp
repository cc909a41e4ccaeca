// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace anello::rich {

/// Finds the PMT whose light collector (a cone of 9 mm radius) contains a point on a disk. Collectors touch but do not
/// overlap, so there is at most one.
class PmtLookup {
  public:
    static constexpr double collector_radius_mm = 9;
    static constexpr std::int32_t none = -1;

    PmtLookup() noexcept;
    /// x, y are in the disk's own frame. Returns the detector-wide PMT number, or none.
    std::int32_t pmt_at(std::uint32_t disk, double x_mm, double y_mm) const noexcept;

  private:
    static constexpr int max_column = 33, max_row = 19;  // half pitches, rows
    static constexpr std::size_t n_columns = 2 * max_column + 1, n_rows = 2 * max_row + 1;
    std::int32_t pmt_in_row(int row, double x_mm, double y_mm) const noexcept;

    std::array<std::array<std::int16_t, n_columns>, n_rows> pmt_of_cell_;  // of disk 0
};

}  // namespace anello::rich

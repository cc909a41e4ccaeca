// SPDX-License-Identifier: Apache-2.0
#include "rich/source/pmt_lookup.hpp"

#include <cmath>

#include "rich/geometry.hpp"

namespace anello::rich {
namespace {

constexpr std::int32_t n_pmts_per_disk = n_pmts / n_disks;

int nearest_integer(double value) noexcept {
    return static_cast<int>(std::floor(value + 0.5));
}

}  // namespace

PmtLookup::PmtLookup() noexcept {
    for (auto& row : pmt_of_cell_) row.fill(none);
    const auto positions = disk_positions();
    for (std::int16_t pmt = 0; pmt < n_pmts_per_disk; ++pmt) {
        const Point at = positions[static_cast<std::size_t>(pmt)];
        const int row = nearest_integer(static_cast<double>(at.y_mm) / row_pitch_mm) + max_row;
        const int column = nearest_integer(static_cast<double>(at.x_mm) / half_pitch_mm) + max_column;
        pmt_of_cell_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = pmt;
    }
}

std::int32_t PmtLookup::pmt_in_row(int row, double x_mm, double y_mm) const noexcept {
    if (row < -max_row || row > max_row) return none;
    const int parity = (row + 1) & 1;  // PMTs of odd rows are at even half pitches
    const int column = 2 * nearest_integer((x_mm / half_pitch_mm - parity) / 2) + parity;
    if (column < -max_column || column > max_column) return none;
    const double dx_mm = x_mm - column * half_pitch_mm, dy_mm = y_mm - row * row_pitch_mm;
    if (dx_mm * dx_mm + dy_mm * dy_mm > collector_radius_mm * collector_radius_mm) return none;
    return pmt_of_cell_[static_cast<std::size_t>(row + max_row)][static_cast<std::size_t>(column + max_column)];
}

std::int32_t PmtLookup::pmt_at(std::uint32_t disk, double x_mm, double y_mm) const noexcept {
    if (!(std::abs(x_mm) < 1000 && std::abs(y_mm) < 1000)) return none;
    const int row_below = static_cast<int>(std::floor(y_mm / row_pitch_mm));
    for (const int row : {row_below, row_below + 1}) {
        const std::int32_t pmt = pmt_in_row(row, x_mm, y_mm);
        if (pmt != none) return pmt + static_cast<std::int32_t>(disk) * n_pmts_per_disk;
    }
    return none;
}

}  // namespace anello::rich

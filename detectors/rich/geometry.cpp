// SPDX-License-Identifier: Apache-2.0
#include "rich/geometry.hpp"

#include <algorithm>
#include <string>

#include "core/errors.hpp"

namespace anello::rich {
namespace {

// Positions in half pitches along x and in rows along y; both are exact integers.
struct Lattice {
    std::int8_t x, y;
};

/// Positions of the eight PMTs of a supercell, relative to its first one.
constexpr std::array<Lattice, n_pmts_per_supercell> supercell_shape{
    {{0, 0}, {2, 0}, {4, 0}, {1, 1}, {3, 1}, {0, 2}, {2, 2}, {4, 2}}};

/// Supercells of half 0 form six slanted rows; in a row, each origin is at (5, -1) from the one before.
struct SupercellRow {
    Lattice first;
    std::uint8_t n_supercells;
};
constexpr std::array<SupercellRow, 6> supercell_rows{
    {{{-29, 6}, 12}, {{-28, 9}, 12}, {{-22, 11}, 11}, {{-21, 14}, 11}, {{-15, 16}, 9}, {{-4, 17}, 6}}};

using HalfLattice = std::array<Lattice, n_pmts_per_board>;

constexpr Lattice sum(Lattice a, Lattice b) {
    return {static_cast<std::int8_t>(a.x + b.x), static_cast<std::int8_t>(a.y + b.y)};
}

constexpr HalfLattice lattice_of_half_0() {
    HalfLattice half{};
    std::size_t pmt = 0;
    for (const SupercellRow& row : supercell_rows) {
        Lattice origin = row.first;
        for (unsigned i = 0; i < row.n_supercells; ++i, origin = sum(origin, {5, -1}))
            for (const Lattice& step : supercell_shape) half[pmt++] = sum(origin, step);
    }
    return half;
}

/// Half 1 is half 0 rotated by 180 degrees; its rows of supercells are numbered from the other end.
constexpr HalfLattice lattice_of_half_1() {
    const HalfLattice half_0 = lattice_of_half_0();
    HalfLattice half{};
    std::size_t row_begin = 0;
    for (const SupercellRow& row : supercell_rows) {
        const std::size_t n_in_row = row.n_supercells * std::size_t{n_pmts_per_supercell};
        for (std::size_t i = 0; i < n_in_row; ++i) {
            const Lattice turned = half_0[row_begin + n_in_row - 1 - i];
            half[row_begin + i] = {static_cast<std::int8_t>(-turned.x), static_cast<std::int8_t>(-turned.y)};
        }
        row_begin += n_in_row;
    }
    return half;
}

constexpr std::array<Point, n_pmts> make_positions() {
    const std::array<HalfLattice, 2> halves{lattice_of_half_0(), lattice_of_half_1()};
    std::array<Point, n_pmts> positions{};
    for (std::uint32_t pmt = 0; pmt < n_pmts; ++pmt) {
        const Lattice at = halves[board_of(pmt) % 2][channel_of(pmt)];
        positions[pmt] = {static_cast<float>(at.x * half_pitch_mm), static_cast<float>(at.y * row_pitch_mm)};
    }
    return positions;
}

constexpr std::array<Point, n_pmts> positions_mm = make_positions();

}  // namespace

std::span<const Point, n_pmts> disk_positions() noexcept {
    return positions_mm;
}

FitFrame parse_fit_frame(const char* text) {
    return parse_word<FitFrame>(text, "fit_frame");
}

Point disk_offset(FitFrame frame, std::uint32_t disk) noexcept {
    // Values of the NA62 trigger configuration, for the disks Jura and Saleve.
    constexpr std::array<std::array<Point, n_disks>, 4> offsets_mm{{
        {{{0.0F, 0.0F}, {0.0F, 0.0F}}},
        {{{127.0F, 0.0F}, {177.0F, 0.0F}}},
        {{{120.4F, -11.8F}, {185.0F, 10.2F}}},
        {{{146.8F, 19.8F}, {196.7F, 9.5F}}},
    }};
    return offsets_mm[static_cast<std::size_t>(frame)][disk];
}

std::array<Point, n_pmts> fit_positions(FitFrame frame) noexcept {
    std::array<Point, n_pmts> fit = positions_mm;
    for (std::uint32_t pmt = 0; pmt < n_pmts; ++pmt) {
        const Point offset = disk_offset(frame, pmt / (n_pmts / n_disks));
        fit[pmt].x_mm -= offset.x_mm;
        fit[pmt].y_mm -= offset.y_mm;
    }
    return fit;
}

}  // namespace anello::rich

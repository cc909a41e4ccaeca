// SPDX-License-Identifier: Apache-2.0
#include "detector/rich_geometry.hpp"

#include <algorithm>
#include <string>

#include "core/errors.hpp"

namespace anello::detector::rich {
namespace {

// Lattice coordinates: x in half pitches (9 mm), y in rows of sqrt(3)/2 pitches (15.588 mm). The pitch makes both
// exact.
constexpr double half_pitch_mm = 9.0;
constexpr double row_pitch_mm = 15.588457268119894;

struct Lattice {
    std::int8_t x, y;
};

/// The eight PMTs of a supercell, seen from its first.
constexpr std::array<Lattice, n_pmts_per_supercell> supercell_shape{
    {{0, 0}, {2, 0}, {4, 0}, {1, 1}, {3, 1}, {0, 2}, {2, 2}, {4, 2}}};
/// Their readout channels, counted down from the supercell's highest.
constexpr std::array<std::uint8_t, n_pmts_per_supercell> channel_step{0, 4, 5, 1, 6, 2, 3, 7};

/// Supercells of half 0 stand in six slanted rows, each origin (5, -1) from the one before.
struct SupercellRow {
    Lattice first;
    std::uint8_t n_supercells;
};
constexpr std::array<SupercellRow, 6> supercell_rows{
    {{{-29, 6}, 12}, {{-28, 9}, 12}, {{-22, 11}, 11}, {{-21, 14}, 11}, {{-15, 16}, 9}, {{-4, 17}, 6}}};

/// Order in which the supercells of each half are cabled: highest readout channel = 8 * entry + 7, disk 0 (disk 1 the
/// same, 1024 higher). No rule was found behind it.
constexpr std::array<std::array<std::uint8_t, n_supercells_per_half>, 2> cable_order{{
    {60, 59, 55, 51, 47, 39, 35, 27, 23, 15, 11, 7,  57, 58, 54, 50, 43, 38, 31, 26, 19,
     14, 6,  3,  56, 53, 46, 42, 37, 30, 25, 18, 13, 5,  2,  52, 49, 45, 41, 34, 29, 22,
     17, 10, 4,  1,  48, 44, 40, 33, 28, 21, 16, 9,  0,  36, 32, 24, 20, 12, 8},
    {56, 52, 44, 40, 32, 28, 20, 16, 8,  4,  0,  1,  57, 53, 45, 41, 33, 29, 21, 17, 12,
     5,  2,  3,  58, 54, 48, 42, 36, 30, 24, 18, 13, 9,  6,  60, 55, 49, 43, 37, 31, 25,
     19, 14, 10, 7,  59, 50, 46, 38, 34, 26, 22, 15, 11, 51, 47, 39, 35, 27, 23},
}};

constexpr std::uint32_t channels_per_board = 512;
constexpr std::uint32_t n_channels = n_boards * channels_per_board;

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

/// Half 1 is half 0 turned by 180 degrees; each row of supercells is numbered from its other end.
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

constexpr std::uint32_t compute_readout_channel(std::uint32_t pmt) {
    const std::uint32_t board = board_of(pmt);
    const std::uint32_t supercell = channel_of(pmt) / n_pmts_per_supercell;
    const std::uint32_t highest = cable_order[board % 2][supercell] * n_pmts_per_supercell + 7U;
    return board * channels_per_board + highest - channel_step[pmt % n_pmts_per_supercell];
}

constexpr std::array<std::int16_t, n_channels> make_pmt_of_channel() {
    std::array<std::int16_t, n_channels> table{};
    for (auto& pmt : table) pmt = -1;
    for (std::uint32_t pmt = 0; pmt < n_pmts; ++pmt)
        table[compute_readout_channel(pmt)] = static_cast<std::int16_t>(pmt);
    return table;
}

constexpr std::array<Point, n_pmts> positions_mm = make_positions();
constexpr std::array<std::int16_t, n_channels> pmt_of_channel = make_pmt_of_channel();

}  // namespace

std::uint32_t readout_channel_of(std::uint32_t pmt) noexcept {
    return compute_readout_channel(pmt);
}

std::int32_t pmt_of_readout_channel(std::uint32_t readout_channel) noexcept {
    return readout_channel < n_channels ? pmt_of_channel[readout_channel] : -1;
}

std::span<const Point, n_pmts> disk_positions() noexcept {
    return positions_mm;
}

FitFrame parse_fit_frame(const char* text) {
    return parse_word<FitFrame>(text, "fit_frame");
}

Point disk_offset(FitFrame frame, std::uint32_t disk) noexcept {
    // NA62 trigger configuration; Jura, Saleve.
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

}  // namespace anello::detector::rich

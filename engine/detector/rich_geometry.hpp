// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/words.hpp"

/// The NA62 RICH as its readout sees it: 1952 PMTs in two disks, numbered
/// pmt = (disk * 2 + half) * 488 + supercell * 8 + position, disk 0 Jura and 1 Saleve, half 0 and 1 ("updown").
/// Positions as published in TRIUMF-Capstone2022/richai (MIT).
namespace anello::detector::rich {

inline constexpr std::uint32_t n_disks = 2;
inline constexpr std::uint32_t n_supercells_per_half = 61;
inline constexpr std::uint32_t n_pmts_per_supercell = 8;
inline constexpr std::uint32_t n_pmts_per_board = n_supercells_per_half * n_pmts_per_supercell;  // 488
inline constexpr std::uint32_t n_boards = 4;
inline constexpr std::uint32_t n_pmts = n_boards * n_pmts_per_board;  // 1952
inline constexpr float pmt_pitch_mm = 18.0F;

struct Point {
    float x_mm, y_mm;
};

constexpr std::uint32_t board_of(std::uint32_t pmt) noexcept {
    return pmt / n_pmts_per_board;
}
/// The channel of mgp packets: the PMT's place on its board, 0..487.
constexpr std::uint32_t channel_of(std::uint32_t pmt) noexcept {
    return pmt % n_pmts_per_board;
}
/// The TEL62 readout channel: board * 512 + TDC * 32 + TDC channel, 0..2047 (facts: NA62 trigger configuration).
std::uint32_t readout_channel_of(std::uint32_t pmt) noexcept;
/// The PMT behind a TEL62 readout channel, or -1 where there is none.
std::int32_t pmt_of_readout_channel(std::uint32_t readout_channel) noexcept;

/// Positions of all PMTs in the frame of their own disk, mm.
std::span<const Point, n_pmts> disk_positions() noexcept;

/// Where the two disks' frames lie in the common frame of the fit: x_fit = x_disk - offset of its disk.
/// `nominal`, `run_2015` and `run_2016` (2016-18) as in the NA62 trigger configuration; `overlaid` has none. The
/// published events of run 8548 are drawn in the frame of `run_2016`.
enum class FitFrame : std::uint8_t { overlaid, nominal, run_2015, run_2016 };
FitFrame parse_fit_frame(const char* text);  ///< Throws ConfigError.
Point disk_offset(FitFrame frame, std::uint32_t disk) noexcept;
/// Positions of all PMTs in the fit frame, mm.
std::array<Point, n_pmts> fit_positions(FitFrame frame) noexcept;

}  // namespace anello::detector::rich

namespace anello {

template <>
inline constexpr std::array<const char*, 4> words_of<detector::rich::FitFrame>{"overlaid", "nominal", "run_2015",
                                                                               "run_2016"};

}  // namespace anello

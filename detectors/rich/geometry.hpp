// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/words.hpp"
#include "rich/wire/rich_channels.hpp"

/// Geometry of the NA62 RICH: 1952 PMTs in two disks, numbered as in rich/wire/rich_channels.hpp. The positions are
/// those published in TRIUMF-Capstone2022/richai (MIT).
namespace anello::rich {

using wire::rich::board_of;
using wire::rich::channel_of;
using wire::rich::n_boards;
using wire::rich::n_disks;
using wire::rich::n_pmts;
using wire::rich::n_pmts_per_board;
using wire::rich::n_pmts_per_supercell;
using wire::rich::n_supercells_per_half;
using wire::rich::pmt_of_readout_channel;
using wire::rich::readout_channel_of;

inline constexpr float pmt_pitch_mm = 18.0F;
inline constexpr double half_pitch_mm = 9.0;
inline constexpr double row_pitch_mm = 15.588457268119894;  ///< sqrt(3) half pitches

struct Point {
    float x_mm, y_mm;
};

/// Positions of all PMTs in the frame of their own disk, in mm.
std::span<const Point, n_pmts> disk_positions() noexcept;

/// Offsets of the two disks' frames in the common frame of the fit: x_fit = x_disk - offset of its disk.
/// `nominal`, `run_2015` and `run_2016` (2016-18) are those of the NA62 trigger configuration; `overlaid` has no
/// offset. The published events of run 8548 are in the frame of `run_2016`.
enum class FitFrame : std::uint8_t { overlaid, nominal, run_2015, run_2016 };
FitFrame parse_fit_frame(const char* text);  ///< Throws ConfigError.
Point disk_offset(FitFrame frame, std::uint32_t disk) noexcept;
/// Positions of all PMTs in the fit frame, in mm.
std::array<Point, n_pmts> fit_positions(FitFrame frame) noexcept;

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<const char*, 4> words_of<rich::FitFrame>{"overlaid", "nominal", "run_2015", "run_2016"};

}  // namespace anello

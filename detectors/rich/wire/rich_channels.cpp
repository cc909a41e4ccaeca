// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/rich_channels.hpp"

#include <array>

namespace anello::wire::rich {
namespace {

/// Readout channels of the PMTs of a supercell, counted down from the supercell's highest.
constexpr std::array<std::uint8_t, n_pmts_per_supercell> channel_step{0, 4, 5, 1, 6, 2, 3, 7};

/// Order in which the supercells of each half are cabled: highest readout channel = 8 * entry + 7 on disk 0, and 1024
/// higher on disk 1. No rule is known.
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

constexpr std::array<std::int16_t, n_channels> pmt_of_channel = make_pmt_of_channel();

}  // namespace

std::uint32_t readout_channel_of(std::uint32_t pmt) noexcept {
    return compute_readout_channel(pmt);
}

std::int32_t pmt_of_readout_channel(std::uint32_t readout_channel) noexcept {
    return readout_channel < n_channels ? pmt_of_channel[readout_channel] : -1;
}

}  // namespace anello::wire::rich

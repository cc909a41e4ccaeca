// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Numbering of the 1952 PMTs in packets of the NA62 RICH:
/// pmt = (disk * 2 + half) * 488 + supercell * 8 + position, disk 0 Jura and 1 Saleve, half 0 and 1 ("updown").
namespace anello::wire::rich {

inline constexpr std::uint32_t n_disks = 2;
inline constexpr std::uint32_t n_supercells_per_half = 61;
inline constexpr std::uint32_t n_pmts_per_supercell = 8;
inline constexpr std::uint32_t n_pmts_per_board = n_supercells_per_half * n_pmts_per_supercell;  // 488
inline constexpr std::uint32_t n_boards = 4;
inline constexpr std::uint32_t n_pmts = n_boards * n_pmts_per_board;  // 1952

constexpr std::uint32_t board_of(std::uint32_t pmt) noexcept {
    return pmt / n_pmts_per_board;
}
/// The channel in MGP packets: the PMT's position on its board, 0..487.
constexpr std::uint32_t channel_of(std::uint32_t pmt) noexcept {
    return pmt % n_pmts_per_board;
}
/// The TEL62 readout channel: board * 512 + TDC * 32 + TDC channel, 0..2047 (facts: NA62 trigger configuration).
std::uint32_t readout_channel_of(std::uint32_t pmt) noexcept;
/// The PMT of a TEL62 readout channel, or -1 if there is none.
std::int32_t pmt_of_readout_channel(std::uint32_t readout_channel) noexcept;

}  // namespace anello::wire::rich

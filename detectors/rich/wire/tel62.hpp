// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/verdict.hpp"

/// The payload of a TEL62 board with TDCs (NA62's RICH) in a fragment of an MEP: docs/reference/mep.md.
namespace anello::wire::tel62 {

inline constexpr std::uint32_t n_fpgas = 4;
inline constexpr std::uint32_t n_tdcs = 16;
inline constexpr std::uint32_t channels_per_tdc = 32;
inline constexpr std::uint32_t channels_per_board = n_tdcs * channels_per_tdc;
inline constexpr std::uint8_t special_trigger_bit = 0x80;

enum class Edge : std::uint8_t { leading = 4, trailing = 5 };

struct Hit {
    std::uint64_t time_fine;        ///< 1/256 tick (97.46 ps) since the start of the burst, 40 bits
    std::uint16_t readout_channel;  ///< board * 512 + tdc * 32 + channel of the TDC
    Edge edge;
    bool operator==(const Hit&) const = default;
};

enum class Edges : std::uint8_t { leading_only, both };

struct Decoded {
    std::uint32_t n_hits = 0;         ///< written to the caller's hits
    std::uint32_t n_error_words = 0;  ///< words of TDC error blocks, skipped
    std::uint8_t trigger_type = 0;
    bool is_special_trigger() const noexcept { return (trigger_type & special_trigger_bit) != 0; }
};

/// Hot path: no allocation, no lock, no log, no throw.
/// `board` is the sub-source of the packet, which the payload repeats; `timestamp_ticks` is that of the fragment.
/// too_many_hits means that `hits` is too small. The content of `hits` is valid only with the verdict ok.
Verdict decode(std::span<const std::byte> payload, std::uint8_t board, std::uint32_t timestamp_ticks, Edges edges,
               std::span<Hit> hits, Decoded& decoded) noexcept;

struct BoardHeader {
    std::uint8_t board = 0;
    std::uint8_t trigger_type = 1;
    std::uint8_t format = 0;
};

/// Encodes one event like a board: four FPGAs, their frames in order of time, without empty frames. Sorts `hits` by
/// FPGA and time. Hits must be of this board and within 0x1000 ticks of the event, so that frame times are unambiguous.
/// Returns the bytes written, or 0 if `to` is too small or a frame count does not fit its byte.
std::size_t encode(std::span<std::byte> to, const BoardHeader& header, std::span<Hit> hits) noexcept;

}  // namespace anello::wire::tel62

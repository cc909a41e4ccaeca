// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/verdict.hpp"

/// Hits of KM3NeT's front-end boards (CLB), one optical module per datagram: docs/reference/clb.md. Big-endian.
/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::wire::clb {

inline constexpr std::uint32_t tdc_data = 0x54544443;  ///< "TTDC"
inline constexpr std::size_t header_bytes = 28;
inline constexpr std::size_t long_header_bytes = 40;  ///< of boards in the sea; the two cannot be told apart by length
inline constexpr std::size_t hit_bytes = 6;
inline constexpr std::uint32_t clock_is_valid = 1U << 31;  ///< of dom_status
inline constexpr std::uint8_t n_channels = 31;             ///< photomultipliers of one optical module

struct Header {
    std::uint32_t data_type = tdc_data;
    std::uint32_t run_number = 0;
    std::uint32_t udp_sequence = 0;  ///< counts the datagrams of one module within one time slice, from 0
    std::uint32_t utc_s = 0;         ///< begin of the time slice, seconds
    std::uint32_t utc_16ns = 0;      ///< and units of 16 ns
    std::uint32_t dom_id = 0;
    std::uint32_t dom_status = clock_is_valid;
    std::array<std::uint32_t, 3> more_status{};  ///< status 2 to 4, with the long header only
    bool operator==(const Header&) const = default;
};

struct Hit {
    std::uint8_t channel;
    std::uint32_t time_ns;  ///< since the begin of the time slice
    std::uint8_t time_over_threshold_ns;
    bool operator==(const Hit&) const = default;
};

struct PacketView {
    Header header;
    std::span<const std::byte> hits;  ///< still packed
    std::uint32_t n_hits() const noexcept { return static_cast<std::uint32_t>(hits.size() / hit_bytes); }
};

/// `known_doms`: the modules that this stream expects, empty for any. The format has no length field: a datagram that
/// does not end with a whole hit is wrong_length, one that lost whole hits cannot be told. n_header_bytes: one of the
/// two. Of clock_not_valid, which is looked at last, `packet` is filled all the same.
Verdict parse(std::span<const std::byte> datagram, std::span<const std::uint32_t> known_doms, PacketView& packet,
              std::size_t n_header_bytes = header_bytes) noexcept;

/// Unpacks a packet that parse() found ok; `hits` holds at least n_hits().
void unpack(const PacketView& packet, Hit* hits) noexcept;

/// Returns the datagram's length, 0 when `datagram` is too small.
std::size_t write(std::span<std::byte> datagram, const Header& header, std::span<const Hit> hits,
                  std::size_t n_header_bytes = header_bytes) noexcept;

}  // namespace anello::wire::clb

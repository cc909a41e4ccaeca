// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/verdict.hpp"

/// Hits of KM3NeT's front-end boards (CLB), one optical module per datagram, big-endian: docs/reference/clb.md.
/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::wire::clb {

inline constexpr std::uint32_t tdc_data = 0x54544443;  ///< "TTDC"
inline constexpr std::size_t header_bytes = 28;
inline constexpr std::size_t long_header_bytes = 40;  ///< of boards in the sea; not shown by the length
inline constexpr std::size_t hit_bytes = 6;
inline constexpr std::uint32_t clock_is_valid = 1U << 31;  ///< bit of dom_status
inline constexpr std::uint8_t n_channels = 31;             ///< photomultipliers of one optical module

struct Header {
    std::uint32_t data_type = tdc_data;
    std::uint32_t run_number = 0;
    std::uint32_t udp_sequence = 0;  ///< counts the datagrams of one module within one time slice, from 0
    std::uint32_t utc_s = 0;         ///< start of the time slice, seconds
    std::uint32_t utc_16ns = 0;      ///< and units of 16 ns
    std::uint32_t dom_id = 0;
    std::uint32_t dom_status = clock_is_valid;
    std::array<std::uint32_t, 3> more_status{};  ///< status 2 to 4, with the long header only
    bool operator==(const Header&) const = default;
};

struct Hit {
    std::uint8_t channel;
    std::uint32_t time_ns;  ///< since the start of the time slice
    std::uint8_t time_over_threshold_ns;
    bool operator==(const Hit&) const = default;
};

struct PacketView {
    Header header;
    std::span<const std::byte> hits;  ///< packed
    std::uint32_t n_hits() const noexcept { return static_cast<std::uint32_t>(hits.size() / hit_bytes); }
};

/// `known_doms` lists the modules that this stream expects; empty for any. n_header_bytes is one of the two header
/// sizes. The format has no length field: a datagram that ends within a hit is wrong_length, but the loss of whole hits
/// cannot be detected. clock_not_valid is checked last, and `packet` is then filled too.
Verdict parse(std::span<const std::byte> datagram, std::span<const std::uint32_t> known_doms, PacketView& packet,
              std::size_t n_header_bytes = header_bytes) noexcept;

/// Unpacks a packet that parse() accepted; `hits` must have room for n_hits().
void unpack(const PacketView& packet, Hit* hits) noexcept;

/// Returns the datagram's length, or 0 if `datagram` is too small.
std::size_t write(std::span<std::byte> datagram, const Header& header, std::span<const Hit> hits,
                  std::size_t n_header_bytes = header_bytes) noexcept;

}  // namespace anello::wire::clb

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "receive/datagrams/source_address.hpp"

namespace anello::receive {

using MacAddress = std::array<std::uint8_t, 6>;

struct UdpRoute {
    MacAddress source_mac, destination_mac;
    SourceAddress source, destination;
};

inline constexpr std::size_t udp_header_bytes = 14 + 20 + 8;  ///< Ethernet, IPv4 and UDP
inline constexpr std::size_t shortest_frame_bytes = 60;       ///< without FCS; shorter frames are padded with zeros
inline constexpr std::size_t longest_udp_bytes = 65507;       ///< the most that IPv4 has room for

/// Hot path. Writes an Ethernet frame with this datagram and correct checksums, without FCS; returns its length. `to`
/// must have room for headers and payload, and for the shortest frame.
std::size_t write_udp_frame(const UdpRoute& route, std::span<const std::byte> payload,
                            std::span<std::byte> to) noexcept;

}  // namespace anello::receive

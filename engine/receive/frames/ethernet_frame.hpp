// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/counters/counters.hpp"
#include "receive/datagrams/source_address.hpp"

namespace anello::receive {

/// Classification of a captured Ethernet frame.
enum class FrameVerdict : std::uint8_t {
    udp,
    not_ip4,      ///< ARP or another protocol
    ip_fragment,  ///< part of a fragmented UDP datagram: not supported
    not_udp,
    cut_short,  ///< the capture did not keep the whole datagram (snap length)
    malformed,  ///< lengths that contradict each other
    udp_ip6,    ///< a UDP datagram over IPv6: not supported
    count
};

struct UdpFrame {
    SourceAddress source;
    std::uint16_t destination_port;  ///< also of frames that are not used, if it can be read; else 0
    std::span<const std::byte> payload;
};

/// Hot path. `captured` is the recorded part of a frame of `frame_bytes`. Skips one or two VLAN tags.
FrameVerdict parse_frame(std::span<const std::byte> captured, std::size_t frame_bytes, UdpFrame& frame) noexcept;

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 7> counter_labels<receive::FrameVerdict>{{
    {"udp", "frames with a UDP datagram over IPv4", Place::informative},
    {"not_ip4", "frames skipped: neither IPv4 nor UDP over IPv6", Place::informative},
    {"ip_fragment", "frames skipped: fragments of UDP datagrams, which are not supported", Place::informative},
    {"not_udp", "frames skipped: IPv4 but not UDP", Place::informative},
    {"cut_short", "frames skipped: the capture kept only their beginning", Place::informative},
    {"malformed", "frames skipped: lengths that contradict each other", Place::informative},
    {"udp_ip6", "frames skipped: UDP datagrams over IPv6, which is not supported", Place::informative},
}};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/ethernet_frame.hpp"

#include "wire/bytes.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t ethernet_bytes = 14, vlan_tag_bytes = 4, ip4_bytes_at_least = 20, ip6_bytes = 40, udp_bytes = 8;
constexpr std::uint16_t type_ip4 = 0x0800, type_ip6 = 0x86dd, type_vlan = 0x8100, type_vlan_outer = 0x88a8;
constexpr std::uint8_t protocol_udp = 17;
constexpr std::uint16_t more_fragments_or_offset = 0x3fff, fragment_offset = 0x1fff;

std::uint16_t be16(std::span<const std::byte> bytes, std::size_t at) noexcept {
    return wire::load_be<std::uint16_t>(bytes.data() + at);
}

/// Offset of the IPv4 or IPv6 header; 0 if the frame has none.
std::size_t find_ip(std::span<const std::byte> frame, std::uint16_t& type) noexcept {
    std::size_t type_at = ethernet_bytes - 2;
    for (int n_tags = 0; n_tags <= 2 && frame.size() >= type_at + 2; ++n_tags, type_at += vlan_tag_bytes) {
        type = be16(frame, type_at);
        if (type == type_ip4 || type == type_ip6) return type_at + 2;
        if (type != type_vlan && type != type_vlan_outer) return 0;
    }
    return 0;
}

/// Distinguishes UDP directly after the IPv6 header from everything else, for the counters. Extension headers are not
/// followed.
FrameVerdict look_at_ip6(std::span<const std::byte> ip, UdpFrame& frame) noexcept {
    if (ip.size() < ip6_bytes || static_cast<std::uint8_t>(ip[6]) != protocol_udp) return FrameVerdict::not_ip4;
    if (ip.size() >= ip6_bytes + 4) frame.destination_port = be16(ip, ip6_bytes + 2);
    return FrameVerdict::udp_ip6;
}

/// Only the first fragment contains the UDP header.
FrameVerdict look_at_fragment(std::span<const std::byte> ip, std::size_t header_bytes, UdpFrame& frame) noexcept {
    const bool is_first = (be16(ip, 6) & fragment_offset) == 0;
    if (is_first && ip.size() >= header_bytes + 4) frame.destination_port = be16(ip, header_bytes + 2);
    return FrameVerdict::ip_fragment;
}

FrameVerdict parse_udp(std::span<const std::byte> segment, std::uint32_t source_host, bool cut,
                       UdpFrame& frame) noexcept {
    if (segment.size() < udp_bytes) return cut ? FrameVerdict::cut_short : FrameVerdict::malformed;
    frame.source = {source_host, be16(segment, 0)};
    frame.destination_port = be16(segment, 2);
    const std::size_t length = be16(segment, 4);
    if (length < udp_bytes) return FrameVerdict::malformed;
    if (length > segment.size()) return cut ? FrameVerdict::cut_short : FrameVerdict::malformed;
    frame.payload = segment.subspan(udp_bytes, length - udp_bytes);
    return FrameVerdict::udp;
}

}  // namespace

FrameVerdict parse_frame(std::span<const std::byte> captured, std::size_t frame_bytes, UdpFrame& frame) noexcept {
    const bool cut = captured.size() < frame_bytes;
    std::uint16_t type = 0;
    const std::size_t ip_at = find_ip(captured, type);
    frame.destination_port = 0;
    if (ip_at == 0) return captured.size() < ethernet_bytes && cut ? FrameVerdict::cut_short : FrameVerdict::not_ip4;
    const std::span<const std::byte> ip = captured.subspan(ip_at);
    if (type == type_ip6) return look_at_ip6(ip, frame);
    if (ip.size() < ip4_bytes_at_least) return cut ? FrameVerdict::cut_short : FrameVerdict::malformed;
    const std::size_t header_bytes = (static_cast<std::size_t>(ip[0]) & 15) * 4, ip_bytes = be16(ip, 2);
    if ((static_cast<unsigned>(ip[0]) >> 4) != 4 || header_bytes < ip4_bytes_at_least || ip_bytes < header_bytes)
        return FrameVerdict::malformed;
    if (static_cast<std::uint8_t>(ip[9]) != protocol_udp) return FrameVerdict::not_udp;
    if ((be16(ip, 6) & more_fragments_or_offset) != 0) return look_at_fragment(ip, header_bytes, frame);
    if (ip.size() < header_bytes) return FrameVerdict::cut_short;
    if (ip_bytes > ip.size() && !cut) return FrameVerdict::malformed;
    // Interfaces pad short frames, so the IP length gives the end of the datagram.
    const std::size_t kept_bytes = ip_bytes < ip.size() ? ip_bytes : ip.size();
    return parse_udp(ip.subspan(header_bytes, kept_bytes - header_bytes), wire::load_be<std::uint32_t>(&ip[12]),
                     ip_bytes > ip.size(), frame);
}

}  // namespace anello::receive

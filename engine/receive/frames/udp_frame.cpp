// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/udp_frame.hpp"

#include <algorithm>
#include <cstring>

#include "core/assert.hpp"
#include "wire/bytes.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t ip_at = 14, udp_at = 34, payload_at = udp_header_bytes;
constexpr std::uint16_t ethertype_ip4 = 0x0800, dont_fragment = 0x4000;
constexpr std::uint8_t version_and_length = 0x45, time_to_live = 64, ip_protocol_udp = 17;

/// RFC 1071: the sum of 16-bit words; an odd last byte is the upper half of a word.
std::uint64_t sum(std::span<const std::byte> bytes) noexcept {
    std::uint64_t total = 0;
    for (; bytes.size() >= 2; bytes = bytes.subspan(2)) total += wire::load_be<std::uint16_t>(bytes.data());
    return bytes.empty() ? total : total + (static_cast<std::uint64_t>(bytes[0]) << 8);
}

std::uint16_t checksum(std::uint64_t total) noexcept {
    while (total > 0xffff) total = (total & 0xffff) + (total >> 16);
    return static_cast<std::uint16_t>(~total);
}

void put(std::span<std::byte> to, std::size_t at, std::uint16_t value) noexcept {
    to[at] = static_cast<std::byte>(value >> 8);
    to[at + 1] = static_cast<std::byte>(value);
}

void put_host(std::span<std::byte> to, std::size_t at, std::uint32_t host) noexcept {
    put(to, at, static_cast<std::uint16_t>(host >> 16));
    put(to, at + 2, static_cast<std::uint16_t>(host));
}

void write_ethernet(const UdpRoute& route, std::span<std::byte> frame) noexcept {
    std::memcpy(&frame[0], route.destination_mac.data(), route.destination_mac.size());
    std::memcpy(&frame[6], route.source_mac.data(), route.source_mac.size());
    put(frame, 12, ethertype_ip4);
}

void write_ip4(const UdpRoute& route, std::size_t n_bytes, std::span<std::byte> frame) noexcept {
    const std::span header = frame.subspan(ip_at, udp_at - ip_at);
    std::ranges::fill(header, std::byte{0});
    header[0] = std::byte{version_and_length};
    put(header, 2, static_cast<std::uint16_t>(n_bytes));
    put(header, 6, dont_fragment);
    header[8] = std::byte{time_to_live};
    header[9] = std::byte{ip_protocol_udp};
    put_host(header, 12, route.source.host());
    put_host(header, 16, route.destination.host());
    put(header, 10, checksum(sum(header)));
}

/// The checksum includes the addresses, the protocol and the length; a result of 0 would mean that there is none.
void write_udp(const UdpRoute& route, std::size_t n_bytes, std::span<std::byte> frame) noexcept {
    put(frame, udp_at, route.source.port());
    put(frame, udp_at + 2, route.destination.port());
    put(frame, udp_at + 4, static_cast<std::uint16_t>(n_bytes));
    put(frame, udp_at + 6, 0);
    const std::uint64_t addresses = sum(frame.subspan(ip_at + 12, 8));
    const std::uint16_t found = checksum(sum(frame.subspan(udp_at, n_bytes)) + addresses + ip_protocol_udp + n_bytes);
    put(frame, udp_at + 6, found == 0 ? 0xffff : found);
}

}  // namespace

std::size_t write_udp_frame(const UdpRoute& route, std::span<const std::byte> payload,
                            std::span<std::byte> to) noexcept {
    ANELLO_ASSERT(payload.size() <= longest_udp_bytes &&
                  to.size() >= std::max(payload_at + payload.size(), shortest_frame_bytes));
    write_ethernet(route, to);
    write_ip4(route, payload_at - ip_at + payload.size(), to);
    if (!payload.empty()) std::memcpy(&to[payload_at], payload.data(), payload.size());
    write_udp(route, payload_at - udp_at + payload.size(), to);
    const std::size_t n_bytes = payload_at + payload.size();
    if (n_bytes >= shortest_frame_bytes) return n_bytes;
    std::ranges::fill(to.subspan(n_bytes, shortest_frame_bytes - n_bytes), std::byte{0});
    return shortest_frame_bytes;
}

}  // namespace anello::receive

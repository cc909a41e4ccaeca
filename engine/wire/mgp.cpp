// SPDX-License-Identifier: Apache-2.0
#include "wire/mgp.hpp"

#include "core/assert.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace anello::wire::mgp {
namespace {

constexpr std::size_t checksum_offset = 20;

Header read_header(const std::byte* at) noexcept {
    return {.flags = static_cast<std::uint8_t>(at[5]),
            .length_bytes = load_le<std::uint16_t>(at + 6),
            .source_id = load_le<std::uint16_t>(at + 8),
            .n_events = load_le<std::uint16_t>(at + 10),
            .sequence = load_le<std::uint32_t>(at + 12),
            .burst_id = load_le<std::uint32_t>(at + 16),
            .checksum = load_le<std::uint32_t>(at + checksum_offset),
            .send_time_ns = load_le<std::uint64_t>(at + 24)};
}

void write_header(std::byte* at, const Header& header) noexcept {
    store_le(at, magic);
    at[4] = std::byte{version};
    at[5] = std::byte{header.flags};
    store_le(at + 6, header.length_bytes);
    store_le(at + 8, header.source_id);
    store_le(at + 10, header.n_events);
    store_le(at + 12, header.sequence);
    store_le(at + 16, header.burst_id);
    store_le(at + checksum_offset, header.checksum);
    store_le(at + 24, header.send_time_ns);
}

std::uint32_t checksum_of(std::span<const std::byte> datagram) noexcept {
    constexpr std::byte zero[4] = {};
    std::uint32_t crc = crc32c(datagram.first(checksum_offset));
    crc = crc32c(zero, crc);
    return crc32c(datagram.subspan(checksum_offset + sizeof zero), crc);
}

Verdict check_flags(std::uint8_t flags) noexcept {
    constexpr std::uint8_t both_ends = start_of_burst | end_of_burst;
    const bool unknown = (flags & ~known_flags) != 0;
    return unknown || (flags & both_ends) == both_ends ? Verdict::wrong_flags : Verdict::ok;
}

Verdict check_content(const Header& header, std::size_t payload_bytes) noexcept {
    if (!header.is_burst_marker()) return header.n_events > 0 ? Verdict::ok : Verdict::wrong_event_count;
    if (header.n_events != 0) return Verdict::wrong_event_count;
    return payload_bytes == totals_bytes ? Verdict::ok : Verdict::wrong_length;
}

}  // namespace

Verdict parse(std::span<const std::byte> datagram, PacketView& packet) noexcept {
    if (datagram.size() < header_bytes) return Verdict::too_short;
    if (load_le<std::uint32_t>(datagram.data()) != magic) return Verdict::wrong_magic;
    if (static_cast<std::uint8_t>(datagram[4]) != version) return Verdict::wrong_version;
    packet.header = read_header(datagram.data());
    const Header& header = packet.header;
    if (check_flags(header.flags) != Verdict::ok) return Verdict::wrong_flags;
    if (header.length_bytes != datagram.size()) return Verdict::wrong_length;
    const bool flagged = (header.flags & with_checksum) != 0;
    if (header.checksum != (flagged ? checksum_of(datagram) : 0)) return Verdict::wrong_checksum;
    packet.payload = datagram.subspan(header_bytes);
    return check_content(header, packet.payload.size());
}

Totals parse_totals(const PacketView& packet) noexcept {
    ANELLO_ASSERT(packet.header.is_burst_marker() && packet.payload.size() == totals_bytes);
    const std::byte* at = packet.payload.data();
    return {.n_packets = load_le<std::uint64_t>(at),
            .n_events = load_le<std::uint64_t>(at + 8),
            .n_hits = load_le<std::uint64_t>(at + 16),
            .n_bytes = load_le<std::uint64_t>(at + 24)};
}

EventReader::EventReader(const PacketView& packet) noexcept
    : rest_(packet.header.is_burst_marker() ? std::span<const std::byte>{} : packet.payload),
      n_left_(packet.header.n_events),
      with_time_(packet.header.has_hit_times()) {}

bool EventReader::end() noexcept {
    if (n_left_ == 0 && rest_.empty()) return false;
    const bool between_events = n_left_ == 0 || rest_.empty();
    verdict_ = between_events ? Verdict::wrong_event_count : Verdict::event_truncated;
    return false;
}

std::size_t seal(std::span<std::byte> datagram, Header header, std::size_t payload_bytes) noexcept {
    const std::size_t length = header_bytes + payload_bytes;
    ANELLO_ASSERT(length <= datagram.size() && length <= 0xffff);
    header.length_bytes = static_cast<std::uint16_t>(length);
    header.checksum = 0;
    write_header(datagram.data(), header);
    if ((header.flags & with_checksum) != 0)
        store_le(datagram.data() + checksum_offset, checksum_of(datagram.first(length)));
    return length;
}

std::size_t write_burst_marker(std::span<std::byte> datagram, Header header, const Totals& totals) noexcept {
    std::byte* at = datagram.data() + header_bytes;
    ANELLO_ASSERT(header.is_burst_marker() && datagram.size() >= header_bytes + totals_bytes);
    header.n_events = 0;
    store_le(at, totals.n_packets);
    store_le(at + 8, totals.n_events);
    store_le(at + 16, totals.n_hits);
    store_le(at + 24, totals.n_bytes);
    return seal(datagram, header, totals_bytes);
}

std::size_t datagram_bytes(std::span<const std::byte> bytes) noexcept {
    constexpr std::size_t length_at = 6;
    if (bytes.size() < header_bytes || load_le<std::uint32_t>(bytes.data()) != magic) return 0;
    return load_le<std::uint16_t>(bytes.data() + length_at);
}

}  // namespace anello::wire::mgp

// SPDX-License-Identifier: Apache-2.0
// MGP: any bytes give a verdict; what is ok is written again to the same bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/mgp.hpp"

namespace mgp = anello::wire::mgp;
using anello::wire::Verdict;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

std::vector<mgp::Hit> unpack(const mgp::EventReader& reader, const mgp::EventView& event, bool with_time) {
    // A heap block of the exact size shows any read beyond the hits.
    const std::vector<std::byte> packed(event.hits.begin(), event.hits.end());
    std::vector<std::uint16_t> channel(event.n_hits);
    std::vector<std::int16_t> time(event.n_hits);
    with_time ? mgp::unpack_timed_hits(packed, event.n_hits, channel.data(), time.data())
              : mgp::unpack_channels(packed, event.n_hits, channel.data());
    std::vector<std::uint16_t> roomy_channel(event.n_hits + mgp::unpack_slack);
    std::vector<std::int16_t> roomy_time(event.n_hits + mgp::unpack_slack);
    with_time ? reader.unpack_timed_hits(event, roomy_channel.data(), roomy_time.data())
              : reader.unpack_channels(event, roomy_channel.data());
    require(std::equal(channel.begin(), channel.end(), roomy_channel.begin()));
    require(!with_time || std::equal(time.begin(), time.end(), roomy_time.begin()));
    std::vector<mgp::Hit> hits(event.n_hits);
    for (std::size_t i = 0; i < hits.size(); ++i) hits[i] = {channel[i], time[i]};
    for (const mgp::Hit& hit : hits) require(hit.channel < mgp::n_channels);
    return hits;
}

/// Bits of the last byte of an event that are padding, which the parser does not look at.
std::byte padding_mask(std::size_t n_hits, bool with_time) {
    const std::size_t used = n_hits * 9 % 8;
    return with_time || used == 0 ? std::byte{0} : std::byte{0xff} << used;
}

void check_event(const mgp::EventReader& reader, const mgp::EventView& event, bool with_time) {
    const auto hits = unpack(reader, event, with_time);
    std::vector<std::byte> again(mgp::event_header_bytes + event.hits.size());
    require(mgp::write_event(again, event.timestamp_ticks, event.fine_time, hits, with_time) == again.size());
    if (event.n_hits > 0) again.back() |= event.hits.back() & padding_mask(event.n_hits, with_time);
    require(std::memcmp(again.data(), event.hits.data() - mgp::event_header_bytes, again.size()) == 0);
}

void check_header(std::span<const std::byte> datagram, const mgp::PacketView& packet) {
    std::vector<std::byte> again(datagram.begin(), datagram.end());
    std::memset(again.data(), 0, mgp::header_bytes);
    const std::size_t length = packet.header.is_burst_marker()
                                   ? mgp::write_burst_marker(again, packet.header, mgp::parse_totals(packet))
                                   : mgp::seal(again, packet.header, packet.payload.size());
    require(length == datagram.size() && std::memcmp(again.data(), datagram.data(), length) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span datagram(reinterpret_cast<const std::byte*>(data), size);
    mgp::PacketView packet;
    if (mgp::parse(datagram, packet) != Verdict::ok) return 0;
    check_header(datagram, packet);
    mgp::EventReader reader(packet);
    mgp::EventView event{};
    std::uint32_t n_events = 0;
    for (; reader.next(event); ++n_events) check_event(reader, event, packet.header.has_hit_times());
    require(reader.verdict() != Verdict::ok || n_events == packet.header.n_events);
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Three mutants of four get a right length and checksum, or few would come past the header.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4 == 0 || size < mgp::header_bytes || size > 0xffff) return size;
    const std::span datagram(reinterpret_cast<std::byte*>(data), size);
    mgp::Header header{.flags = static_cast<std::uint8_t>(data[5] & mgp::known_flags)};
    std::memcpy(&header.source_id, data + 8, 2);
    std::memcpy(&header.n_events, data + 10, 2);
    std::memcpy(&header.sequence, data + 12, 4);
    std::memcpy(&header.burst_id, data + 16, 4);
    std::memcpy(&header.send_time_ns, data + 24, 8);
    return mgp::seal(datagram, header, size - mgp::header_bytes);
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "source/sinks/packet_sink.hpp"
#include "wire/crc32c.hpp"
#include "wire/mgp.hpp"

namespace anello::source::test {

/// Keeps every datagram, by stream.
class CaptureSink final : public PacketSink {
  public:
    struct Captured {
        std::vector<std::byte> bytes;
        Nanoseconds sent_ns;
    };
    void send(std::span<const OutgoingDatagram> datagrams, Nanoseconds now_ns, SendResult* results) noexcept override {
        largest_batch = std::max(largest_batch, datagrams.size());
        for (const OutgoingDatagram& datagram : datagrams) {
            *results++ = refuse ? SendResult::refused : SendResult::sent;
            if (!refuse) streams[datagram.stream].push_back({{datagram.bytes.begin(), datagram.bytes.end()}, now_ns});
        }
    }
    std::vector<Captured> streams[300];
    std::size_t largest_batch = 0;
    bool refuse = false;
};

/// The checksum of all datagrams of a stream, one after the other: it says whether a change altered the output.
inline std::uint32_t digest_of(const std::vector<CaptureSink::Captured>& stream) {
    std::uint32_t digest = 0;
    for (const CaptureSink::Captured& datagram : stream) digest = wire::crc32c(datagram.bytes, digest);
    return digest;
}

/// The events that a receiver reads from one stream of mgp packets.
struct Received {
    std::vector<std::uint32_t> sequences;
    std::vector<std::uint64_t> event_keys;
    std::vector<std::uint64_t> times_fine;
    std::vector<wire::mgp::Totals> start_totals, end_totals;
    wire::mgp::Totals sum;
    std::uint32_t n_bad = 0;
};

inline Received receive(const std::vector<CaptureSink::Captured>& stream) {
    Received received;
    for (const auto& [bytes, sent_ns] : stream) {
        wire::mgp::PacketView packet;
        if (wire::mgp::parse(bytes, packet) != wire::Verdict::ok) {
            ++received.n_bad;
            continue;
        }
        if ((packet.header.flags & wire::mgp::start_of_burst) != 0)
            received.start_totals.push_back(parse_totals(packet));
        if ((packet.header.flags & wire::mgp::end_of_burst) != 0) received.end_totals.push_back(parse_totals(packet));
        if (packet.header.is_burst_marker()) continue;
        received.sequences.push_back(packet.header.sequence);
        wire::mgp::EventReader events(packet);
        for (wire::mgp::EventView event{}; events.next(event);) {
            received.event_keys.push_back(std::uint64_t{packet.header.burst_id} << 32 | event.timestamp_ticks);
            received.times_fine.push_back(std::uint64_t{event.timestamp_ticks} << 8 | event.fine_time);
            ++received.sum.n_events;
            received.sum.n_hits += event.n_hits;
        }
        received.n_bad += events.verdict() != wire::Verdict::ok;
        ++received.sum.n_packets;
        received.sum.n_bytes += bytes.size();
    }
    return received;
}

}  // namespace anello::source::test

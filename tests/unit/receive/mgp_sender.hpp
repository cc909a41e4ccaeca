// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/mgp.hpp"

namespace anello::receive::test {

using Bytes = std::vector<std::byte>;

/// A front-end board that sends mgp: keeps its sequence, its totals and an event time that only grows in a burst.
/// The hits of an event follow from its time, so that a receiver's output can be checked event by event.
class MgpSender {
  public:
    explicit MgpSender(std::uint16_t source_id, std::uint8_t flags = wire::mgp::with_checksum)
        : source_id_(source_id), flags_(flags) {}

    static std::uint32_t n_hits_of(std::uint32_t ticks) { return ticks / 7 % 23; }
    static wire::mgp::Hit hit_of(std::uint32_t ticks, std::uint32_t i) {
        return {static_cast<std::uint16_t>((ticks + i * 31) % 488),
                static_cast<std::int16_t>(static_cast<int>((ticks + i) % 100) * 4 - 200)};
    }

    Bytes data(std::uint32_t n_events) {
        Bytes packet(9000);
        std::size_t used = wire::mgp::header_bytes;
        for (std::uint32_t i = 0; i < n_events; ++i, ticks_ += 5) {
            std::vector<wire::mgp::Hit> hits(n_hits_of(ticks_));
            for (std::uint32_t j = 0; j < hits.size(); ++j) hits[j] = hit_of(ticks_, j);
            used += wire::mgp::write_event(std::span(packet).subspan(used), ticks_, static_cast<std::uint8_t>(ticks_),
                                           hits, (flags_ & wire::mgp::hits_with_time) != 0);
            totals_.n_hits += hits.size();
        }
        wire::mgp::Header header = make_header(flags_);
        header.n_events = static_cast<std::uint16_t>(n_events);
        packet.resize(wire::mgp::seal(packet, header, used - wire::mgp::header_bytes));
        ++sequence_;
        ++now_ns_;
        ++totals_.n_packets;
        totals_.n_events += n_events;
        totals_.n_bytes += packet.size();
        return packet;
    }

    Bytes marker(wire::mgp::Flag kind) {
        ++now_ns_;
        Bytes packet(wire::mgp::header_bytes + wire::mgp::totals_bytes);
        const auto flags = static_cast<std::uint8_t>((flags_ & wire::mgp::with_checksum) | kind);
        wire::mgp::write_burst_marker(packet, make_header(flags), totals_);
        return packet;
    }

    void begin_burst(std::uint32_t burst_id, std::uint32_t first_ticks = 0) {
        burst_id_ = burst_id;
        ticks_ = first_ticks;
    }
    /// The board is switched off and on.
    void restart() {
        const std::uint64_t now_ns = now_ns_;
        *this = MgpSender(source_id_, flags_);
        now_ns_ = now_ns;
    }
    void set_clock(std::uint64_t now_ns) { now_ns_ = now_ns; }
    void set_sequence(std::uint32_t sequence) { sequence_ = sequence; }

    const wire::mgp::Totals& totals() const { return totals_; }
    std::uint32_t sequence() const { return sequence_; }
    std::uint32_t ticks() const { return ticks_; }

  private:
    wire::mgp::Header make_header(std::uint8_t flags) const {
        wire::mgp::Header header;
        header.flags = flags;
        header.source_id = source_id_;
        header.sequence = sequence_;
        header.burst_id = burst_id_;
        header.send_time_ns = now_ns_;
        return header;
    }

    std::uint16_t source_id_;
    std::uint8_t flags_;
    std::uint64_t now_ns_ = 1'000;  ///< moves on when a packet is sent
    std::uint32_t sequence_ = 0, burst_id_ = 0, ticks_ = 0;
    wire::mgp::Totals totals_;
};

}  // namespace anello::receive::test

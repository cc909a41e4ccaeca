// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/verdict.hpp"

/// MGP: Anello's multi-event packet, one board's part of many events in one datagram. Little-endian, packed.
/// docs/reference/mgp.md specifies every byte; hardware produces the same packets.
///
///   header, 32 bytes
///     0  u32 magic "MGP1"           16  u32 burst_id
///     4  u8  version = 1            20  u32 crc32c of the whole datagram with this field as 0 (0 when not flagged)
///     5  u8  flags                  24  u64 send_time_ns (CLOCK_REALTIME of the sender; 0 = not known)
///     6  u16 length_bytes (all)
///     8  u16 source_id
///    10  u16 n_events
///    12  u32 sequence: counts data packets of this source since the start of the run, wraps
///   then n_events events, back to back
///     u32 timestamp_ticks (since start of burst) | u8 fine_time (1/256 tick) | u8 n_hits | hits
///     hits, 9 bits each:  channel 0..511, bit stream from the least significant bit on, padded to a byte
///     hits, 16 bits each: bits 0-8 channel, bits 9-15 signed hit time in 1/64 tick (0.39 ns) from the event's time
///   start-of-burst and end-of-burst packets have n_events = 0 and carry the source's totals (32 bytes) since the
///   start of the run; they do not count in `sequence`, which is that of the next data packet. They are repeated.
///   send_time_ns of a start-of-burst packet is that of timestamp 0, so that a receiver knows when each event was.
namespace anello::wire::mgp {

inline constexpr std::uint32_t magic = 0x3150474d;  // "MGP1" as it stands on the wire
inline constexpr std::uint8_t version = 1;
inline constexpr std::size_t header_bytes = 32;
inline constexpr std::size_t event_header_bytes = 6;
inline constexpr std::size_t totals_bytes = 32;
inline constexpr std::uint32_t n_channels = 512;
inline constexpr int hit_time_fine_per_unit = 4;  ///< 1/64 tick in units of 1/256 tick

enum Flag : std::uint8_t {
    hits_with_time = 1,  ///< 16-bit hits; without it hits are packed at 9 bits
    with_checksum = 2,
    start_of_burst = 4,
    end_of_burst = 8,
    known_flags = 15,
};

struct Header {
    std::uint8_t flags = 0;
    std::uint16_t length_bytes = 0;
    std::uint16_t source_id = 0;
    std::uint16_t n_events = 0;
    std::uint32_t sequence = 0;
    std::uint32_t burst_id = 0;
    std::uint32_t checksum = 0;
    std::uint64_t send_time_ns = 0;

    bool has_hit_times() const noexcept { return (flags & hits_with_time) != 0; }
    bool is_burst_marker() const noexcept { return (flags & (start_of_burst | end_of_burst)) != 0; }
};

/// The source's totals since the start of the run, sent in burst markers.
struct Totals {
    std::uint64_t n_packets = 0;  ///< data packets, without burst markers
    std::uint64_t n_events = 0;   ///< this board's fragments in them
    std::uint64_t n_hits = 0;
    std::uint64_t n_bytes = 0;  ///< UDP payload of the data packets
    bool operator==(const Totals&) const = default;
};

/// A datagram whose header, length and checksum are right. EventReader still has to check the events.
struct PacketView {
    Header header;
    std::span<const std::byte> payload;  ///< events, or totals in a burst marker
};

/// Hot path: no allocation, no lock, no log, no throw. Checks everything except the events.
Verdict parse(std::span<const std::byte> datagram, PacketView& packet) noexcept;
/// Only for a burst marker that parse() accepted.
Totals parse_totals(const PacketView& packet) noexcept;

struct EventView {
    std::uint32_t timestamp_ticks;
    std::uint8_t fine_time;
    std::uint8_t n_hits;
    std::span<const std::byte> hits;  ///< packed
};

/// How many values after n_hits EventReader::unpack_... may overwrite with undefined values.
inline constexpr std::size_t unpack_slack = 8;

/// Reads one event after another of a packet. next() returns false at the end; verdict() then tells if all events were
/// right.
class EventReader {
  public:
    explicit EventReader(const PacketView& packet) noexcept;
    bool next(EventView& event) noexcept;
    Verdict verdict() const noexcept { return verdict_; }

    /// Unpack the hits of the event that next() returned last, into columns with room for n_hits + unpack_slack values.
    /// They are faster than the functions below, which write nothing beyond the hits.
    void unpack_channels(const EventView& event, std::uint16_t* channel) const noexcept;
    void unpack_timed_hits(const EventView& event, std::uint16_t* channel, std::int16_t* hit_time_fine) const noexcept;

  private:
    bool end() noexcept;

    std::span<const std::byte> rest_;
    std::uint32_t n_left_;
    bool with_time_;
    Verdict verdict_ = Verdict::ok;
};

constexpr std::size_t packed_hits_bytes(std::size_t n_hits, bool with_time) noexcept {
    return with_time ? n_hits * 2 : (n_hits * 9 + 7) / 8;
}

/// Unpacks `n_hits` 9-bit channels. `hits` holds packed_hits_bytes(n_hits, false) bytes, `channel` n_hits values.
void unpack_channels(std::span<const std::byte> hits, std::uint32_t n_hits, std::uint16_t* channel) noexcept;
/// Unpacks 16-bit hits; hit_time_fine is relative to the event's time, in 1/256 tick.
void unpack_timed_hits(std::span<const std::byte> hits, std::uint32_t n_hits, std::uint16_t* channel,
                       std::int16_t* hit_time_fine) noexcept;

/// One hit as a board measures it. The writer clamps times outside the format's +-1 tick.
struct Hit {
    std::uint16_t channel;
    std::int16_t time_fine;  ///< 1/256 tick from the event's time
};

/// Encodes one event on its own. Returns the bytes written, or 0 if `to` is too small. The first 5 bytes are timestamp
/// and fine time; restamp() replaces them in an encoded copy.
std::size_t write_event(std::span<std::byte> to, std::uint32_t timestamp_ticks, std::uint8_t fine_time,
                        std::span<const Hit> hits, bool with_time) noexcept;
void restamp(std::byte* encoded_event, std::uint32_t timestamp_ticks, std::uint8_t fine_time) noexcept;

/// Writes the header in front of the `payload_bytes` that are already at datagram[header_bytes...], with length and, if
/// flagged, the checksum. Returns the datagram's length.
std::size_t seal(std::span<std::byte> datagram, Header header, std::size_t payload_bytes) noexcept;
/// Writes a whole burst marker (start or end by header.flags). Returns its length.
std::size_t write_burst_marker(std::span<std::byte> datagram, Header header, const Totals& totals) noexcept;

/// Length of the datagram that begins here, according to its header; 0 if there is no such header. Hot path: no
/// allocation, no lock, no log, no throw.
std::size_t datagram_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace anello::wire::mgp

#include "wire/mgp_inline.hpp"

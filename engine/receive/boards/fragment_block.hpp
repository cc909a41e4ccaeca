// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/clock.hpp"

/// What the receive stage hands on: one persistent buffer of one stream, filled with fragments in structure-of-arrays
/// form. The decompressor writes hits here straight from the datagram; nothing is copied again until events are built.
namespace anello::receive {

/// Values beyond max_hits that an unpacker may write, so that it can work in whole groups.
inline constexpr std::size_t hit_slack = 8;

struct BlockShape {
    std::uint32_t max_fragments = 1024;
    std::uint32_t max_hits = 1024 * 16;
    std::uint32_t max_packets = 256;
    bool operator==(const BlockShape&) const = default;
};

/// One datagram's share of a block, for tracing and for the order of fragments.
struct PacketStamp {
    std::uint32_t first_fragment;  ///< index in the block; its last is the next stamp's first - 1
    std::uint32_t sequence;
    Nanoseconds sent_ns;    ///< sender's wall clock, 0 = not known
    Nanoseconds kernel_ns;  ///< kernel's receive stamp (wall clock), 0 = none
};

/// The columns of a block inside a buffer. Borrowed; as wide as the shape says.
struct FragmentColumns {
    std::uint32_t* timestamp_ticks;  ///< [max_fragments] since start of burst
    std::uint8_t* fine_time;         ///< [max_fragments]
    std::uint32_t* hit_begin;        ///< [max_fragments + 1]
    std::uint16_t* hit_id;           ///< [max_hits + hit_slack] detector-wide number of the channel
    std::int16_t*
        hit_time_fine;    ///< [max_hits + hit_slack] 1/256 tick from the fragment's time; 0 when the format has none
    PacketStamp* packet;  ///< [max_packets]
};

std::size_t block_bytes(const BlockShape& shape) noexcept;
FragmentColumns columns_of(std::span<std::byte> buffer, const BlockShape& shape) noexcept;

/// disowned: no block, but word that what the stream gave before came from another source than the board.
enum class CloseReason : std::uint8_t { size, gathering_time, disowned, end_of_burst, stop };

/// A full buffer, handed to the builder by value through a ring. The builder gives `buffer` back to the stream's
/// PersistentBuffers when it has taken what it needs.
struct Completion {
    std::uint16_t stream;
    CloseReason reason;
    bool sorted;  ///< timestamps never fall inside the block
    std::uint32_t buffer;
    std::uint32_t burst_id;  ///< a block never spans two bursts
    std::uint32_t n_fragments, n_hits, n_packets;
    Nanoseconds opened_ns;        ///< wall clock, first datagram placed
    Nanoseconds closed_ns;        ///< wall clock, handed on
    Nanoseconds given_ns;         ///< monotonic, the same
    Nanoseconds burst_origin_ns;  ///< the sender's wall clock at timestamp 0 of the burst; 0 = not known
};

}  // namespace anello::receive

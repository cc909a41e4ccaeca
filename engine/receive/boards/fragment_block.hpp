// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/clock.hpp"

/// The output of the receive stage: one persistent buffer of one stream, filled with fragments as structure of arrays.
/// The unpacker writes hits into it directly from the datagram; the next copy is into the event.
namespace anello::receive {

/// Number of values after max_hits that an unpacker may overwrite, so that it can work in whole groups.
inline constexpr std::size_t hit_slack = 8;

struct BlockShape {
    std::uint32_t max_fragments = 1024;
    std::uint32_t max_hits = 1024 * 16;
    std::uint32_t max_packets = 256;
    bool operator==(const BlockShape&) const = default;
};

/// One datagram's share of a block, for tracing and for the order of fragments.
struct PacketStamp {
    std::uint32_t first_fragment;  ///< index in the block; the packet ends before the next stamp's first_fragment
    std::uint32_t sequence;
    Nanoseconds sent_ns;    ///< sender's wall clock, 0 = not known
    Nanoseconds kernel_ns;  ///< kernel's receive stamp (wall clock), 0 = none
};

/// The columns of a block in a buffer, sized by the block's shape. They do not own the buffer.
struct FragmentColumns {
    std::uint32_t* timestamp_ticks;  ///< [max_fragments] since start of burst
    std::uint8_t* fine_time;         ///< [max_fragments]
    std::uint32_t* hit_begin;        ///< [max_fragments + 1]
    std::uint16_t* hit_id;           ///< [max_hits + hit_slack] detector-wide channel number
    std::int16_t*
        hit_time_fine;    ///< [max_hits + hit_slack] 1/256 tick from the fragment's time; 0 when the format has none
    PacketStamp* packet;  ///< [max_packets]
};

std::size_t block_bytes(const BlockShape& shape) noexcept;
FragmentColumns columns_of(std::span<std::byte> buffer, const BlockShape& shape) noexcept;

/// disowned: carries no data, but the message that the stream's earlier data was not from the board.
enum class CloseReason : std::uint8_t { size, gathering_time, disowned, end_of_burst, stop };

/// A full buffer, handed to the builder by value through a ring. The builder returns `buffer` to the stream's
/// PersistentBuffers after use.
struct Completion {
    std::uint16_t stream;
    CloseReason reason;
    bool sorted;  ///< timestamps never decrease within the block
    std::uint32_t buffer;
    std::uint32_t burst_id;  ///< a block contains one burst only
    std::uint32_t n_fragments, n_hits, n_packets;
    Nanoseconds opened_ns;        ///< wall clock, first datagram placed
    Nanoseconds closed_ns;        ///< wall clock when it was handed on
    Nanoseconds given_ns;         ///< the same on the monotonic clock
    Nanoseconds burst_origin_ns;  ///< the sender's wall clock at timestamp 0 of the burst; 0 = not known
};

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/clock.hpp"
#include "km3net/messages/daq_messages.hpp"

/// What a readout unit sends of a slice: the times at which its first and last datagram arrived (i64 each, wall clock),
/// and the experiment's message with all hits (L0 slice). docs/reference/km3net-messages.md
namespace anello::km3net {

struct SlicePart {
    Nanoseconds opened_wall_ns = 0, last_wall_ns = 0;
    wire::daq::MessageView message;
};

inline constexpr std::size_t stamps_bytes = 16;

constexpr std::size_t max_part_bytes(std::size_t n_doms, std::size_t max_hits) noexcept {
    return stamps_bytes + wire::daq::header_bytes + sizeof(std::uint32_t) +
           n_doms * (wire::daq::frame_header_bytes + max_hits * wire::daq::hit_bytes);
}

// Hot path: no allocation, no lock, no log, no throw.
inline std::size_t part_bytes(const Slice& slice) noexcept {
    return stamps_bytes + daq::l0_slice_bytes(slice);
}

/// `to` has room for part_bytes().
inline void write_part(std::span<std::byte> to, const daq::Origin& origin, std::span<const Dom> doms,
                       SliceStore& slices, std::uint32_t buffer) noexcept {
    const Slice& slice = slices.slice(buffer);
    wire::store_le(to.data(), static_cast<std::uint64_t>(slice.opened_wall_ns));
    wire::store_le(to.data() + 8, static_cast<std::uint64_t>(slice.last_wall_ns));
    daq::Writer writer(to.subspan(stamps_bytes));
    daq::write_l0_slice(writer, origin, doms, slices, buffer);
}

/// Accepts any bytes. It limits the two times, so that their differences do not overflow.
inline wire::Verdict parse_part(std::span<const std::byte> bytes, SlicePart& part) noexcept {
    if (bytes.size() < stamps_bytes) return wire::Verdict::too_short;
    const auto stamp = [&](std::size_t at) {
        return std::max<Nanoseconds>(0, static_cast<Nanoseconds>(wire::load_le<std::uint64_t>(bytes.data() + at)));
    };
    part.opened_wall_ns = stamp(0);
    part.last_wall_ns = stamp(8);
    const wire::Verdict verdict = wire::daq::parse(bytes.subspan(stamps_bytes), part.message);
    const bool is_l0 = part.message.header.type == daq::Type::l0_slice;
    return verdict == wire::Verdict::ok && !is_l0 ? wire::Verdict::wrong_magic : verdict;
}

}  // namespace anello::km3net

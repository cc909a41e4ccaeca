// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "receive/datagrams/backend.hpp"

namespace anello::receive {

/// A received message with datagrams that are not lent yet; a super-packet has several.
struct Message {
    std::span<const std::byte> rest;
    std::size_t segment_bytes;  ///< length of each datagram but the last
    std::uint16_t stream;
    bool cut;  ///< the message was longer than its slot
    Nanoseconds kernel_ns;
    SourceAddress source;
};

/// `noted_segment_bytes` is the segment size reported by the system; 0 for a single datagram.
inline bool is_super_packet(std::size_t noted_segment_bytes, std::size_t message_bytes) noexcept {
    return noted_segment_bytes > 0 && noted_segment_bytes < message_bytes;
}

/// Length of the datagram that begins here, according to its header; 0: unknown (wire::PacketFormat::length_of).
using DatagramLength = std::size_t (*)(std::span<const std::byte>) noexcept;

/// Hot path. Length of each datagram in a piece, except the last, which may be shorter, as the system cuts them. The
/// piece's length if it is a single datagram or none.
inline std::size_t segment_bytes_of(std::span<const std::byte> piece, DatagramLength length_of) noexcept {
    const std::size_t segment_bytes = length_of == nullptr ? 0 : length_of(piece);
    if (segment_bytes == 0 || segment_bytes >= piece.size()) return piece.size();
    for (std::size_t at = segment_bytes; at < piece.size(); at += segment_bytes) {
        const std::span<const std::byte> rest = piece.subspan(at);
        if (length_of(rest) != std::min(segment_bytes, rest.size())) return piece.size();
    }
    return segment_bytes;
}

/// Hot path. Lends one datagram; returns false if it was the message's last.
inline bool lend_next(Message& message, Datagram& datagram) noexcept {
    const std::size_t n_bytes = std::min(message.segment_bytes, message.rest.size());
    const bool is_last = n_bytes == message.rest.size();
    datagram = {.bytes = message.rest.first(n_bytes),
                .stream = message.stream,
                .cut = message.cut && is_last,
                .kernel_ns = message.kernel_ns,
                .source = message.source};
    message.rest = message.rest.subspan(n_bytes);
    return !is_last;
}

}  // namespace anello::receive

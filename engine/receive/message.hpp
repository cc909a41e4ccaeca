// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "receive/backend.hpp"

namespace anello::receive {

/// A received message, of which datagrams are still to be lent: a super-packet has several.
struct Message {
    std::span<const std::byte> rest;
    std::size_t segment_bytes;  ///< length of each datagram but the last
    std::uint16_t stream;
    bool cut;  ///< the message was longer than its slot
    Nanoseconds kernel_ns;
    SourceAddress source;
};

/// `noted_segment_bytes` is what the system says of a super-packet; 0 for a single datagram.
inline bool is_super_packet(std::size_t noted_segment_bytes, std::size_t message_bytes) noexcept {
    return noted_segment_bytes > 0 && noted_segment_bytes < message_bytes;
}

/// Hot path. Lends one datagram; false when it was the message's last.
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

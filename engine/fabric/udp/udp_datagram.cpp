// SPDX-License-Identifier: Apache-2.0
#include "fabric/udp/udp_datagram.hpp"

#include <algorithm>
#include <cstring>

namespace anello::fabric {

bool parse_head(std::span<const std::byte> datagram, DatagramHead& head) noexcept {
    if (datagram.size() < sizeof head) return false;
    std::memcpy(&head, datagram.data(), sizeof head);
    return head.magic == udp_magic && head.version == udp_version;
}

bool parse_piece(std::span<const std::byte> datagram, const DatagramHead& head, std::size_t max_message_bytes,
                 PieceView& piece) noexcept {
    if (head.header_bytes > max_header_bytes || head.payload_bytes > max_message_bytes) return false;
    if (head.piece_bytes < least_piece_bytes || head.piece >= n_pieces(head.payload_bytes, head.piece_bytes))
        return false;
    piece.head = head;
    const std::size_t length = std::min<std::size_t>(head.piece_bytes, head.payload_bytes - piece.offset());
    if (datagram.size() != sizeof head + head.header_bytes + length) return false;
    piece.header = datagram.subspan(sizeof head, head.header_bytes);
    piece.piece = datagram.last(length);
    return true;
}

}  // namespace anello::fabric

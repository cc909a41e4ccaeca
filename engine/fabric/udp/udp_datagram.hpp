// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/fabric.hpp"

/// Content of the datagrams of the UDP transport; docs/reference/fabric.md specifies it.
namespace anello::fabric {

static_assert(std::endian::native == std::endian::little, "datagrams are little-endian and used where they lie");

inline constexpr std::uint32_t udp_magic = 0x55464e41;  // "ANFU"
inline constexpr std::uint8_t udp_version = 1;
/// Smallest piece of a message, except for the last one. It limits the number of pieces.
inline constexpr std::size_t least_piece_bytes = 384;

enum class DatagramKind : std::uint8_t { hello = 1, data, ack, heartbeat, bye };

/// Begins every datagram. The receiver gave `cookie` to the sender in its hello; a datagram without it belongs to a
/// stranger, or to a connection that is over.
struct DatagramHead {
    std::uint32_t magic = udp_magic;
    std::uint8_t version = udp_version;
    DatagramKind kind = DatagramKind::heartbeat;
    Peer peer = 0;  ///< the sender
    std::uint64_t cookie = 0;
    std::uint64_t sequence = 0;  ///< data: counts datagrams of this pair; ack, heartbeat: the one after the highest
                                 ///< that came; hello: 1 if up, and needing no answer
    std::uint64_t message = 0;   ///< data: counts messages of this pair; heartbeat, bye: the next one's,
                                 ///< all below it were sent whole
    std::uint32_t payload_bytes = 0;  ///< data: of the whole message
    std::uint32_t piece = 0;          ///< data: which of its pieces this is
    std::uint32_t piece_bytes = 0;    ///< data: of each but the last
    std::uint8_t header_bytes = 0;    ///< data: the message's header, in each of its datagrams
    std::uint8_t zero[3] = {};
};
static_assert(sizeof(DatagramHead) == 48);

/// `cookie` is not checked in a hello: `farm_id` and the incarnations are.
struct UdpHello {
    DatagramHead head;
    std::uint64_t farm_id;
    std::uint64_t from, to;     ///< incarnations
    std::uint64_t own_cookie;   ///< to be put into what is sent to us
    std::uint64_t your_cookie;  ///< what we were given, 0: nothing yet
    std::uint64_t window;       ///< datagrams that may be under way to us
};
static_assert(sizeof(UdpHello) == 96);

constexpr std::size_t n_pieces(std::size_t payload_bytes, std::size_t piece_bytes) noexcept {
    return payload_bytes == 0 ? 1 : (payload_bytes + piece_bytes - 1) / piece_bytes;
}

/// A data datagram whose numbers fit each other and our limits.
struct PieceView {
    DatagramHead head;
    std::span<const std::byte> header, piece;

    std::size_t offset() const noexcept { return std::size_t{head.piece} * head.piece_bytes; }
};

/// False where this is no datagram at all: too short, or another program's.
bool parse_head(std::span<const std::byte> datagram, DatagramHead& head) noexcept;
/// False where its numbers contradict each other or our limits. `head` is of parse_head().
bool parse_piece(std::span<const std::byte> datagram, const DatagramHead& head, std::size_t max_message_bytes,
                 PieceView& piece) noexcept;

}  // namespace anello::fabric

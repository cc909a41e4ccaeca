// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "core/kernel_handle.hpp"
#include "ring_share.hpp"
#include "stream/ring/ring_memory.hpp"

namespace anello::zeromq {

/// The two rings of a connection, as seen from one side.
struct RingPair {
    RingShare share;
    stream::RingMemory send;
    stream::RingMemory receive;
};

/// A message of one byte on the socket, which follows the handshake if both sides offered rings.
enum class Word : char {
    rings = 'R',  ///< from the side that connected, with the descriptors of the rings it sends and receives by
    yes = 'Y',    ///< the answer: from now on all bytes go through the rings
    no = 'N',     ///< from either side: no rings, all bytes stay on the socket
};

constexpr std::size_t max_descriptors = 2;
using Descriptors = std::array<Descriptor, max_descriptors>;
/// Sends bytes and descriptors on a unix socket without waiting. Returns what sendmsg() returns.
ssize_t send_with(int socket, std::span<const char> bytes, std::span<const int> descriptors) noexcept;
ssize_t receive_with(int socket, std::span<char> bytes, Descriptors& descriptors) noexcept;

/// Makes rings for a ZeroMQ socket of this type; a direction that carries at most subscriptions gets a small ring.
/// Returns null if there is no memory or no descriptor, or if the process has used up its share.
std::unique_ptr<RingPair> try_create_rings(int socket_type) noexcept;
bool try_send_rings(int socket, const RingPair& rings) noexcept;
bool try_send(int socket, Word word) noexcept;

/// Returns what recv() returns. Sets `rings` if Word::rings arrived with two usable rings.
int receive_word(int socket, Word& word, std::unique_ptr<RingPair>& rings) noexcept;

}  // namespace anello::zeromq

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

/// A word on the socket, one byte each, that follows the handshake where both sides offered a ring.
enum class Word : char {
    rings = 'R',  ///< from the side that connected, with the descriptors of the rings it sends and receives by
    yes = 'Y',    ///< the answer: from now on all bytes take the rings
    no = 'N',     ///< from either: no rings, all bytes take the socket as ever
};

constexpr std::size_t max_descriptors = 2;
using Descriptors = std::array<Descriptor, max_descriptors>;
/// Bytes and descriptors on a unix socket, without waiting. What recvmsg() and sendmsg() say.
ssize_t send_with(int socket, std::span<const char> bytes, std::span<const int> descriptors) noexcept;
ssize_t receive_with(int socket, std::span<char> bytes, Descriptors& descriptors) noexcept;

/// For a socket of this ZeroMQ type; a direction that carries only subscriptions or nothing gets a small ring. Null:
/// no memory, no descriptors, or the process has its share.
std::unique_ptr<RingPair> try_create_rings(int socket_type) noexcept;
bool try_send_rings(int socket, const RingPair& rings) noexcept;
bool try_send(int socket, Word word) noexcept;

/// What recv() says; `rings` is there when Word::rings came with two that can be used.
int receive_word(int socket, Word& word, std::unique_ptr<RingPair>& rings) noexcept;

}  // namespace anello::zeromq

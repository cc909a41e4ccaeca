// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "stream/ring_memory.hpp"

namespace anello::zeromq {

/// A share of what this process may hold in rings (Settings::all_rings_bytes), given back when it goes.
class RingShare {
  public:
    static std::optional<RingShare> try_take(std::size_t n_bytes) noexcept;
    RingShare(RingShare&& other) noexcept;
    RingShare& operator=(RingShare&&) = delete;
    ~RingShare();

  private:
    explicit RingShare(std::size_t n_bytes) noexcept : n_bytes_(n_bytes) {}
    std::size_t n_bytes_;
};

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

/// For a socket of this ZeroMQ type; a direction that carries only subscriptions or nothing gets a small ring. Null:
/// no memory, no descriptors, or the process has its share.
std::unique_ptr<RingPair> try_create_rings(int socket_type) noexcept;
bool try_send_rings(int socket, const RingPair& rings) noexcept;
bool try_send(int socket, Word word) noexcept;

/// What recv() says; `rings` is there when Word::rings came with two that can be used.
int receive_word(int socket, Word& word, std::unique_ptr<RingPair>& rings) noexcept;

}  // namespace anello::zeromq

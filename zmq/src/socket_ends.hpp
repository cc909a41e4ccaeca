// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/kernel_handle.hpp"
#include "stream/ring/ring_ends.hpp"
#include "stream/ring/ring_memory.hpp"

namespace anello::zeromq {

/// The unix socket once rings are in use: a byte is a bell for both directions, and its end is the end of the peer. It
/// never waits: a full socket already holds bells. Two byte values have a meaning: a side that lends memory offers it
/// once, with its descriptor, and the other side accepts or does not answer.
class BellSocket {
  public:
    explicit BellSocket(int socket) noexcept : socket_(socket) {}

    void ring() const noexcept;
    void hang_up() const noexcept;
    /// Reads the bytes that have arrived. False: the peer is gone.
    bool take_rings() noexcept;
    bool peer_gone() const noexcept { return peer_gone_; }
    bool try_offer(int lent_memory) const noexcept;
    bool try_accept() const noexcept;
    bool peer_accepted() const noexcept { return peer_accepted_; }
    /// Takes the memory that the peer offered; later calls return a closed descriptor.
    Descriptor take_offered() noexcept { return std::move(offered_); }
    int descriptor() const noexcept { return socket_; }

  private:
    int socket_;
    Descriptor offered_;
    bool peer_gone_ = false, peer_accepted_ = false;
};

/// A sending end that rings on the socket, which must outlive it. The engine watches the socket and reads its bytes,
/// so this class has no bells to take.
class SocketSendEnd final : public stream::SendEnd {
  public:
    SocketSendEnd(stream::RingMemory ring, BellSocket& bell) noexcept
        : ring_(std::move(ring)), header_(ring_.header()), bell_(bell) {}

    std::byte* bytes() const noexcept override { return ring_.bytes(); }
    std::size_t size_bytes() const noexcept override { return ring_.size_bytes(); }
    int descriptor() const noexcept override { return bell_.descriptor(); }
    void quiet_bell() noexcept override {}
    void take_wish_back() noexcept override;
    bool peer_alive() noexcept override { return !bell_.peer_gone(); }
    void hang_up() noexcept override { bell_.hang_up(); }
    bool publish(std::uint64_t head) noexcept override;
    std::uint64_t tail() noexcept override;
    bool peer_closed() noexcept override;
    void end() noexcept override;
    void ask_for_bell(std::size_t n_bytes) noexcept override;

  private:
    stream::RingMemory ring_;
    stream::RingHeader& header_;
    BellSocket& bell_;
};

/// A receiving end that rings on the socket, which must outlive it.
class SocketReceiveEnd final : public stream::ReceiveEnd {
  public:
    SocketReceiveEnd(stream::RingMemory ring, BellSocket& bell) noexcept
        : ring_(std::move(ring)), header_(ring_.header()), bell_(bell) {}

    std::byte* bytes() const noexcept override { return ring_.bytes(); }
    std::size_t size_bytes() const noexcept override { return ring_.size_bytes(); }
    int descriptor() const noexcept override { return bell_.descriptor(); }
    void quiet_bell() noexcept override {}
    void take_wish_back() noexcept override;
    bool peer_alive() noexcept override { return !bell_.peer_gone(); }
    void hang_up() noexcept override { bell_.hang_up(); }
    std::uint64_t head() noexcept override;
    bool peer_ended() noexcept override;
    bool release(std::uint64_t tail, std::size_t n_free) noexcept override;
    void close() noexcept override;
    void ask_for_bell() noexcept override;

  private:
    stream::RingMemory ring_;
    stream::RingHeader& header_;
    BellSocket& bell_;
};

}  // namespace anello::zeromq

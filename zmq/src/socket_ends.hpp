// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/kernel_handle.hpp"
#include "stream/ring/ring_ends.hpp"
#include "stream/ring/ring_memory.hpp"

namespace anello::zeromq {

/// The unix socket after the upgrade: a byte on it is the bell of both directions, and its end is the peer's. Never
/// waits: a socket full of bytes is rung already. Two bytes are words besides: a side that lends memory says so once,
/// with its descriptor, and the other accepts or says nothing.
class BellSocket {
  public:
    explicit BellSocket(int socket) noexcept : socket_(socket) {}

    void ring() const noexcept;
    void hang_up() const noexcept;
    /// Takes the bytes that came. False: the peer is gone.
    bool take_rings() noexcept;
    bool peer_gone() const noexcept { return peer_gone_; }
    bool try_offer(int lent_memory) const noexcept;
    bool try_accept() const noexcept;
    bool peer_accepted() const noexcept { return peer_accepted_; }
    /// The memory that the peer offered, once.
    Descriptor take_offered() noexcept { return std::move(offered_); }
    int descriptor() const noexcept { return socket_; }

  private:
    int socket_;
    Descriptor offered_;
    bool peer_gone_ = false, peer_accepted_ = false;
};

/// A sending end whose bells are the socket's, which must outlive it. The engine watches the socket and takes its
/// bytes, so there is nothing to quiet here.
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

/// The receiving end of the same kind.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace anello::stream {

/// What both ends of one direction of a stream have: the interface between the ring's protocol (Sender, Receiver) and
/// the transport of bytes and indices. Everything that comes through it is only the peer's claim.
///
/// Sleeping: ask_for_bell(), look once more, then wait for descriptor() to become readable; afterwards quiet_bell().
class RingEnd {
  public:
    RingEnd() = default;
    RingEnd(const RingEnd&) = delete;
    RingEnd& operator=(const RingEnd&) = delete;
    virtual ~RingEnd() = default;

    /// This side's view of the ring, mapped twice in a row: size_bytes() from any of the first size_bytes() bytes on.
    virtual std::byte* bytes() const noexcept = 0;
    virtual std::size_t size_bytes() const noexcept = 0;
    /// Keeps those bytes mapped when this end is gone; null where nobody may ask for that.
    virtual std::shared_ptr<const void> memory() const noexcept { return nullptr; }

    /// Readable when the bell was rung since quiet_bell(), or the peer is gone.
    virtual int descriptor() const noexcept = 0;
    virtual void quiet_bell() noexcept = 0;
    virtual void take_wish_back() noexcept = 0;  ///< no bell is needed any more
    virtual bool peer_alive() noexcept = 0;      ///< Costs a system call.
    virtual void hang_up() noexcept = 0;         ///< The peer must see us as dead, in both directions.
};

/// The sending end. Hot path: no allocation, no lock, no log, no throw.
class SendEnd : public RingEnd {
  public:
    /// All bytes before head are written: the peer may see them. True: it slept, and was rung.
    virtual bool publish(std::uint64_t head) noexcept = 0;
    /// How much the peer claims to have taken.
    virtual std::uint64_t tail() noexcept = 0;
    virtual bool peer_closed() noexcept = 0;  ///< It takes no more.
    virtual void end() noexcept = 0;          ///< Nothing more will be published.
    /// The bell is to ring once when `n_bytes` are free; the order with a later tail() is total.
    virtual void ask_for_bell(std::size_t n_bytes) noexcept = 0;
};

/// The receiving end. Hot path: no allocation, no lock, no log, no throw.
class ReceiveEnd : public RingEnd {
  public:
    /// How much the peer claims to have published.
    virtual std::uint64_t head() noexcept = 0;
    virtual bool peer_ended() noexcept = 0;  ///< What head() says from now on is final.
    /// All bytes before tail are the peer's again; n_free: how many it has then. True: it slept, and was rung.
    virtual bool release(std::uint64_t tail, std::size_t n_free) noexcept = 0;
    virtual void close() noexcept = 0;  ///< No more data is accepted.
    /// The bell is to ring once when there are more bytes; the order with a later head() is total.
    virtual void ask_for_bell() noexcept = 0;
};

}  // namespace anello::stream

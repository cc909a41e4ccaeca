// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace anello::stream {

/// The interface between the ring's protocol (Sender, Receiver) and the transport of bytes and indices, common to both
/// ends of a direction. All values that come through it are unchecked claims of the peer.
///
/// To sleep: ask_for_bell(), look once more, then wait for descriptor() to become readable; afterwards quiet_bell().
class RingEnd {
  public:
    RingEnd() = default;
    RingEnd(const RingEnd&) = delete;
    RingEnd& operator=(const RingEnd&) = delete;
    virtual ~RingEnd() = default;

    /// This side's mapping of the ring, twice in a row, so that size_bytes() bytes from any position are contiguous.
    virtual std::byte* bytes() const noexcept = 0;
    virtual std::size_t size_bytes() const noexcept = 0;
    /// Keeps those bytes mapped after this end is destroyed; null if this end does not support it.
    virtual std::shared_ptr<const void> memory() const noexcept { return nullptr; }

    /// Readable if the bell has rung since quiet_bell(), or the peer has died.
    virtual int descriptor() const noexcept = 0;
    virtual void quiet_bell() noexcept = 0;
    virtual void take_wish_back() noexcept = 0;  ///< no bell is needed any more
    virtual bool peer_alive() noexcept = 0;      ///< Costs a system call.
    virtual void hang_up() noexcept = 0;         ///< Makes the peer see this side as dead, in both directions.
};

/// The sending end. Hot path: no allocation, no lock, no log, no throw.
class SendEnd : public RingEnd {
  public:
    /// Shows the peer all bytes before head, which must be written. Returns true if the peer slept, and was rung.
    virtual bool publish(std::uint64_t head) noexcept = 0;
    /// How many bytes the peer claims to have taken.
    virtual std::uint64_t tail() noexcept = 0;
    virtual bool peer_closed() noexcept = 0;  ///< The peer takes no more.
    virtual void end() noexcept = 0;          ///< Nothing more will be published.
    /// Requests one bell when `n_bytes` are free; totally ordered with a later tail().
    virtual void ask_for_bell(std::size_t n_bytes) noexcept = 0;
};

/// The receiving end. Hot path: no allocation, no lock, no log, no throw.
class ReceiveEnd : public RingEnd {
  public:
    /// How many bytes the peer claims to have published.
    virtual std::uint64_t head() noexcept = 0;
    virtual bool peer_ended() noexcept = 0;  ///< If true, the next head() is final.
    /// Returns all bytes before tail to the peer, which then has n_free. Returns true if the peer slept, and was rung.
    virtual bool release(std::uint64_t tail, std::size_t n_free) noexcept = 0;
    virtual void close() noexcept = 0;  ///< No more data is accepted.
    /// Requests one bell when there are more bytes; totally ordered with a later head().
    virtual void ask_for_bell() noexcept = 0;
};

}  // namespace anello::stream

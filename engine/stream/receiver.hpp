// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/counters/counters.hpp"
#include "stream/ring/ring_ends.hpp"
#include "stream/sender.hpp"
#include "stream/stream_config.hpp"
#include "stream/stream_counters.hpp"
#include "stream/stream_status.hpp"

namespace anello::stream {

/// The receiving side of a stream, for one thread. Timeouts are like the Sender's. It checks the peer's indices and the
/// lengths of messages, and never reads outside of the ring.
/// Hot path: no allocation, no lock, no log, no throw.
class Receiver {
  public:
    /// `end` is null if this side does not receive; every call then returns closed.
    Receiver(std::unique_ptr<ReceiveEnd> end, const StreamConfig& config, Counters<StreamCounter> counters) noexcept;
    ~Receiver();

    /// Receives the available data, at least one byte. closed or peer_died are returned only after all published data.
    Transfer recv(Bytes room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer recv(std::span<const Bytes> parts, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer try_recv(Bytes room) noexcept { return recv(room, 0); }
    /// Fills the whole room; the deadline applies to all of it.
    Transfer recv_all(Bytes room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;

    /// Shows all available bytes in place, in one piece, at least n_bytes (too_large if the ring is smaller). They stay
    /// until release(). With closed and peer_died `found` is the rest, shorter than n_bytes.
    StreamStatus peek(ConstBytes& found, std::size_t n_bytes = 1, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    /// Returns the first n_bytes to the sender.
    void release(std::size_t n_bytes) noexcept;

    /// Shows a message in place, until release_message(). An invalid message, or one cut off by the end of stream, is
    /// corrupt. A second call before release_message() shows the same message.
    StreamStatus peek_message(ConstBytes& message, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    void release_message() noexcept;  ///< Does nothing if peek_message() gave no message.
    /// Copies a message; too_large if the room is smaller: the message then stays, and n_bytes is its length.
    Transfer recv_message(Bytes room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;

    /// Accepts no more data, and informs the sender.
    void stop_receiving() noexcept;
    void abandon() noexcept;  ///< Hangs up without closing: the peer sees this side as dead.

    /// Releases memory and descriptors after stop or failure. Peeked data becomes invalid, unless receive_memory() is
    /// held. Later calls return the same end as before.
    void let_go() noexcept;
    /// Keeps the ring mapped while it is held; null after let_go().
    std::shared_ptr<const void> receive_memory() const noexcept { return end_ == nullptr ? nullptr : end_->memory(); }
    /// True if no more data will arrive, and all received data has been taken.
    bool receive_is_over() const noexcept {
        return fault_ == StreamStatus::corrupt || stopped_ ||
               ((fault_ != StreamStatus::ok || peer_ended_) && n_there() == 0);
    }

    /// Readable when there may be data, after a call that returned would_block; requests bells from then on.
    int data_descriptor() noexcept;
    bool receives() const noexcept { return end_ != nullptr; }
    std::size_t readable_bytes() const noexcept { return n_there(); }  ///< found by the last look

  private:
    std::size_t n_there() const noexcept { return static_cast<std::size_t>(head_ - tail_); }
    StreamStatus look(std::size_t n_wanted) noexcept;
    StreamStatus wait_for_data(std::size_t n_wanted, Nanoseconds timeout_ns) noexcept;
    StreamStatus not_now(std::size_t n_wanted) noexcept;
    StreamStatus fail(StreamStatus fault) noexcept;
    StreamStatus fail_frame(StreamStatus status) noexcept;
    std::size_t copy_out(Bytes room) noexcept;

    std::unique_ptr<ReceiveEnd> end_;
    const std::byte* ring_ = nullptr;
    std::size_t size_bytes_ = 0, mask_ = 0, grain_bytes_ = 0;
    std::uint64_t tail_ = 0;  ///< the private original of the tail in the ring
    std::uint64_t head_ = 0;  ///< the last valid head of the peer
    std::size_t message_bytes_ = 0;
    bool has_message_ = false;
    StreamStatus fault_ = StreamStatus::ok;
    bool stopped_ = false, polled_ = false;
    bool peer_ended_ = false;        ///< seen by the last look
    std::uint32_t n_unchecked_ = 0;  ///< empty looks since the last check whether the peer lives
    std::uint64_t n_sleeps_ = 0;
    const StreamConfig config_;
    Counters<StreamCounter> counters_;
};

}  // namespace anello::stream

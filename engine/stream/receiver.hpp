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

/// The receiving side of a stream; one thread. Timeouts as the Sender's. What the peer says about its progress, and
/// the length of a message, are checked; nothing outside the ring is ever read.
/// Hot path: no allocation, no lock, no log, no throw.
class Receiver {
  public:
    /// end: null where this side does not receive; every call then says closed.
    Receiver(std::unique_ptr<ReceiveEnd> end, const StreamConfig& config, Counters<StreamCounter> counters) noexcept;
    ~Receiver();

    /// What is there, at least one byte. closed or peer_died come after all that was published.
    Transfer recv(Bytes room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer recv(std::span<const Bytes> parts, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer try_recv(Bytes room) noexcept { return recv(room, 0); }
    /// Fills the room whole; the deadline is that of all of it.
    Transfer recv_all(Bytes room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;

    /// All available bytes, in one piece in place, at least n_bytes (too_large where the ring is smaller). It stays
    /// until release(). With closed and peer_died `found` is the rest, shorter than n_bytes.
    StreamStatus peek(ConstBytes& found, std::size_t n_bytes = 1, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    /// Gives the first n_bytes back to the sender.
    void release(std::size_t n_bytes) noexcept;

    /// A message where it lies, until release_message(). A frame that cannot be, or cut off by the end of stream, is
    /// corrupt. A second call before release_message() gives the same message.
    StreamStatus peek_message(ConstBytes& message, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    void release_message() noexcept;  ///< Nothing, where peek_message() gave none.
    /// A copy of a message; too_large where the room is smaller: the message then stays, n_bytes is its length.
    Transfer recv_message(Bytes room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;

    /// No more data is accepted: tells the sender.
    void stop_receiving() noexcept;
    void abandon() noexcept;  ///< Hangs up without closing: to the peer we died.

    /// Gives memory and descriptors back, once stopped or failed: what was peeked at is gone, unless receive_memory()
    /// is held, and what is asked for afterwards ends as before.
    void let_go() noexcept;
    /// Of the ring, which stays mapped as long as this is held; null: let go of.
    std::shared_ptr<const void> receive_memory() const noexcept { return end_ == nullptr ? nullptr : end_->memory(); }
    /// Nothing more will arrive, and nothing received is left.
    bool receive_is_over() const noexcept {
        return fault_ == StreamStatus::corrupt || stopped_ ||
               ((fault_ != StreamStatus::ok || peer_ended_) && n_there() == 0);
    }

    /// Readable when there may be data, after a call that said would_block; asks for a bell from then on.
    int data_descriptor() noexcept;
    bool receives() const noexcept { return end_ != nullptr; }
    std::size_t readable_bytes() const noexcept { return n_there(); }  ///< what the last look found

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
    std::uint64_t tail_ = 0;  ///< ours alone: what lies in the ring is a copy
    std::uint64_t head_ = 0;  ///< the last good word of the peer
    std::size_t message_bytes_ = 0;
    bool has_message_ = false;
    StreamStatus fault_ = StreamStatus::ok;
    bool stopped_ = false, polled_ = false;
    bool peer_ended_ = false;        ///< seen by the last look
    std::uint32_t n_unchecked_ = 0;  ///< empty looks since we last looked whether the peer lives
    std::uint64_t n_sleeps_ = 0;
    const StreamConfig config_;
    Counters<StreamCounter> counters_;
};

}  // namespace anello::stream

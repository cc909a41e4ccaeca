// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/counters/counters.hpp"
#include "stream/ring/ring_ends.hpp"
#include "stream/stream_config.hpp"
#include "stream/stream_counters.hpp"
#include "stream/stream_status.hpp"

namespace anello::stream {

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

/// The sending side of a stream, for one thread. A timeout of 0 never waits, no_deadline_ns waits for ever. It checks
/// the peer's indices: an invalid index ends the stream as corrupt.
/// Hot path: no allocation, no lock, no log, no throw.
class Sender {
  public:
    /// `end` is null if this side does not send; every call then returns closed.
    Sender(std::unique_ptr<SendEnd> end, const StreamConfig& config, Counters<StreamCounter> counters) noexcept;
    ~Sender();

    /// Sends all bytes, or as many as possible before the deadline; without a timeout, as many as there is room for.
    Transfer send(ConstBytes bytes, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer send(std::span<const ConstBytes> parts, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer try_send(ConstBytes bytes) noexcept { return send(bytes, 0); }

    /// Reserves n_bytes in one piece, to be written in place; too_large if the ring is smaller. Any send or reserve
    /// before commit() cancels the reservation.
    StreamStatus reserve(std::size_t n_bytes, Bytes& room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    /// Publishes the first n_bytes of the reservation, and cancels the rest.
    void commit(std::size_t n_bytes) noexcept;

    /// Sends a whole message, or nothing.
    StreamStatus send_message(ConstBytes message, Nanoseconds timeout_ns = no_deadline_ns) noexcept;

    /// Ends the stream: the receiver gets the data sent so far, then closed.
    void finish() noexcept;
    /// Hangs up without an end of stream: the peer sees this side as dead.
    void abandon() noexcept;

    /// Releases memory and descriptors after finish or failure. Later calls return the same end as before.
    void let_go() noexcept;
    /// Keeps the ring mapped while it is held; null after let_go().
    std::shared_ptr<const void> send_memory() const noexcept { return end_ == nullptr ? nullptr : end_->memory(); }
    /// True if the peer takes no more or has died, or this side has ended.
    bool send_is_over() const noexcept { return fault_ != StreamStatus::ok; }

    /// Checks whether the peer still lives, for callers that send rarely. Costs a system call.
    StreamStatus check_peer() noexcept;

    /// Readable when there may be room, after a call that returned would_block; requests bells from then on.
    int space_descriptor() noexcept;
    bool sends() const noexcept { return end_ != nullptr; }
    std::size_t send_ring_bytes() const noexcept { return size_bytes_; }
    std::size_t largest_message() const noexcept;
    std::size_t reserved_bytes() const noexcept { return n_reserved_; }
    std::size_t unread_bytes() noexcept;  ///< published, and according to the peer not yet taken

  private:
    std::size_t n_free() const noexcept { return size_bytes_ - static_cast<std::size_t>(head_ - tail_); }
    StreamStatus look(std::size_t n_wanted) noexcept;
    StreamStatus wait_for_space(std::size_t n_wanted, Nanoseconds timeout_ns) noexcept;
    StreamStatus refuse_at_once(std::size_t n_wanted) noexcept;
    StreamStatus not_now(std::size_t n_wanted) noexcept;
    StreamStatus fail(StreamStatus fault) noexcept;
    StreamStatus fail_by_end() noexcept;
    void copy_in(ConstBytes bytes) noexcept;
    void publish() noexcept;

    std::unique_ptr<SendEnd> end_;
    std::byte* ring_ = nullptr;
    std::size_t size_bytes_ = 0, mask_ = 0, grain_bytes_ = 0;
    std::uint64_t head_ = 0;       ///< the private original of the head in the ring
    std::uint64_t published_ = 0;  ///< of head_
    std::uint64_t tail_ = 0;       ///< the last valid tail of the peer
    std::size_t n_reserved_ = 0;
    StreamStatus fault_ = StreamStatus::ok;
    bool ended_ = false, polled_ = false;
    std::uint32_t n_unchecked_ = 0;  ///< calls since the last check whether the peer lives
    std::uint64_t n_sleeps_ = 0;
    const StreamConfig config_;
    Counters<StreamCounter> counters_;
};

}  // namespace anello::stream

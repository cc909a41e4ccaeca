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

/// The sending side of a stream; one thread. A timeout of 0 never waits, no_deadline_ns waits for ever. What the peer
/// says about its progress is checked: an index that cannot be ends the stream as corrupt.
/// Hot path: no allocation, no lock, no log, no throw.
class Sender {
  public:
    /// end: null where this side does not send; every call then says closed.
    Sender(std::unique_ptr<SendEnd> end, const StreamConfig& config, Counters<StreamCounter> counters) noexcept;
    ~Sender();

    /// All of it, or as much as went before the deadline; without time to wait as much as there is room for.
    Transfer send(ConstBytes bytes, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer send(std::span<const ConstBytes> parts, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    Transfer try_send(ConstBytes bytes) noexcept { return send(bytes, 0); }

    /// Room for n_bytes in one piece, to be written in place; too_large where the ring is smaller. Whatever is
    /// sent or reserved before commit() takes its place.
    StreamStatus reserve(std::size_t n_bytes, Bytes& room, Nanoseconds timeout_ns = no_deadline_ns) noexcept;
    /// Publishes the first n_bytes of what was reserved, and forgets the rest.
    void commit(std::size_t n_bytes) noexcept;

    /// A message whole, or nothing of it.
    StreamStatus send_message(ConstBytes message, Nanoseconds timeout_ns = no_deadline_ns) noexcept;

    /// End of stream: the receiver gets what was sent, then closed.
    void finish() noexcept;
    /// Hangs up without an end of stream: the peer finds that we died.
    void abandon() noexcept;

    /// Gives memory and descriptors back, once finished or failed; what is asked for afterwards ends as before.
    void let_go() noexcept;
    /// Of the ring, which stays mapped as long as this is held; null: let go of.
    std::shared_ptr<const void> send_memory() const noexcept { return end_ == nullptr ? nullptr : end_->memory(); }
    /// The peer takes nothing any more, or is dead, or we have ended.
    bool send_is_over() const noexcept { return fault_ != StreamStatus::ok; }

    /// Checks whether the peer is still there, for callers that send rarely. Costs a system call.
    StreamStatus check_peer() noexcept;

    /// Readable when there may be room, after a call that said would_block; asks for a bell from then on.
    int space_descriptor() noexcept;
    bool sends() const noexcept { return end_ != nullptr; }
    std::size_t send_ring_bytes() const noexcept { return size_bytes_; }
    std::size_t largest_message() const noexcept;
    std::size_t reserved_bytes() const noexcept { return n_reserved_; }
    std::size_t unread_bytes() noexcept;  ///< published, and not taken yet as far as the peer says

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
    std::uint64_t head_ = 0;       ///< ours alone: what lies in the ring is a copy
    std::uint64_t published_ = 0;  ///< of head_
    std::uint64_t tail_ = 0;       ///< the last good word of the peer
    std::size_t n_reserved_ = 0;
    StreamStatus fault_ = StreamStatus::ok;
    bool ended_ = false, polled_ = false;
    std::uint32_t n_unchecked_ = 0;  ///< calls since we last looked whether the peer lives
    std::uint64_t n_sleeps_ = 0;
    const StreamConfig config_;
    Counters<StreamCounter> counters_;
};

}  // namespace anello::stream

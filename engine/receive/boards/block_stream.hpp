// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "memory/persistent_buffers.hpp"
#include "receive/boards/completion_ring.hpp"
#include "receive/boards/fragment_block.hpp"

namespace anello::receive {

/// Connects the receive stage to the builder for one stream: a list of persistent buffers and a ring of completions.
/// The receiver fills and hands over buffers; the builder takes, reads and returns them. Every completion has a buffer,
/// even that of an end of burst without fragments.
class BlockStream {
  public:
    BlockStream(const BlockShape& shape, std::uint32_t n_buffers, memory::Kind kind = memory::Kind::host)
        : shape_(shape),
          buffers_({.n_buffers = n_buffers, .buffer_bytes = block_bytes(shape), .kind = kind}),
          completions_(n_buffers) {}  // room for every buffer, so giving never fails

    const BlockShape& shape() const noexcept { return shape_; }
    FragmentColumns columns(std::uint32_t buffer) noexcept { return columns_of(buffers_.bytes(buffer), shape_); }

    /// Builder's thread. All data received until this monotonic time is in blocks that can be taken now.
    Nanoseconds read_until_ns() const noexcept {
        return read_until_ns_.load(std::memory_order_acquire);  // pairs with set_read_until
    }
    /// Builder's thread. False while so few buffers are free that the receiver does not read.
    bool is_wanted() const noexcept { return is_wanted_.load(std::memory_order_relaxed); }
    bool try_take(Completion& completion) noexcept { return completions_.try_take(completion); }
    void give_back(std::uint32_t buffer) noexcept { buffers_.give_back(buffer); }

    /// Receiver's thread.
    void set_read_until(Nanoseconds read_until_ns, bool is_wanted) noexcept {
        is_wanted_.store(is_wanted, std::memory_order_relaxed);
        read_until_ns_.store(read_until_ns, std::memory_order_release);  // pairs with read_until_ns
    }
    memory::PersistentBuffers& buffers() noexcept { return buffers_; }
    CompletionRing& completions() noexcept { return completions_; }
    bool has_completions() const noexcept { return completions_.size() > 0; }  ///< An estimate for other threads.

  private:
    BlockShape shape_;
    memory::PersistentBuffers buffers_;
    CompletionRing completions_;
    alignas(64) std::atomic<Nanoseconds> read_until_ns_{0};
    std::atomic<bool> is_wanted_{true};
};

}  // namespace anello::receive

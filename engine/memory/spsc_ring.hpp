// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace anello::memory {

/// A bounded ring between exactly one giving and one taking thread. Each side keeps a copy of the other's index, so
/// that a cache line moves between cores only when the copy says that the ring is full or empty.
template <typename T>
class SpscRing {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    /// Holds at least `min_capacity` items (rounded up to a power of two). The constructor touches their memory, so
    /// that no thread waits for page faults later.
    explicit SpscRing(std::size_t min_capacity)
        : mask_(std::bit_ceil(min_capacity < 2 ? 2 : min_capacity) - 1), items_(new T[mask_ + 1]()) {}

    std::size_t capacity() const noexcept { return mask_ + 1; }

    // Hot path: no allocation, no lock, no log, no throw.
    bool try_give(const T& item) noexcept {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head - tail_copy_ > mask_) {
            tail_copy_ = tail_.load(std::memory_order_acquire);  // pairs with the release in try_take
            if (head - tail_copy_ > mask_) return false;
        }
        items_[head & mask_] = item;
        head_.store(head + 1, std::memory_order_release);  // pairs with the acquire in try_take
        return true;
    }

    bool try_take(T& item) noexcept {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        if (tail == head_copy_) {
            head_copy_ = head_.load(std::memory_order_acquire);  // pairs with the release in try_give
            if (tail == head_copy_) return false;
        }
        item = items_[tail & mask_];
        tail_.store(tail + 1, std::memory_order_release);  // pairs with the acquire in try_give
        return true;
    }

    /// Exact for the giving and the taking thread, an estimate for all others.
    std::size_t size() const noexcept {
        return head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_acquire);
    }

  private:
    const std::size_t mask_;
    const std::unique_ptr<T[]> items_;
    alignas(64) std::atomic<std::size_t> head_{0};
    std::size_t tail_copy_ = 0;
    alignas(64) std::atomic<std::size_t> tail_{0};
    std::size_t head_copy_ = 0;
};

}  // namespace anello::memory

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

namespace anello::receive {

/// Carries the descriptions of full buffers from one giving to one taking thread. The giving thread may also withdraw
/// the oldest one that was not taken yet (policy overwrite_oldest). Then both compete for the tail by compare-and-swap,
/// and the one that moves it owns the item.
///
/// The taker may read a slot that the giver has withdrawn and is filling again; its compare-and-swap then fails and it
/// discards the item. Slots are words of relaxed atomics, so that this race is defined.
template <typename T>
class WithdrawableRing {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    /// Holds at least `min_capacity` items (rounded up to a power of two).
    explicit WithdrawableRing(std::size_t min_capacity)
        : mask_(std::bit_ceil(min_capacity < 2 ? 2 : min_capacity) - 1), slots_(new Slot[mask_ + 1]) {}

    std::size_t capacity() const noexcept { return mask_ + 1; }

    // Hot path, all three: no allocation, no lock, no log, no throw.
    /// Giving thread; false if the ring is full.
    bool try_give(const T& value) noexcept {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head - tail_.load(std::memory_order_acquire) > mask_) return false;  // pairs with claim_oldest
        slots_[head & mask_].write(value);
        head_.store(head + 1, std::memory_order_release);  // pairs with the acquire in claim_oldest
        return true;
    }
    bool try_take(T& value) noexcept { return claim_oldest(value); }             ///< Taking thread.
    bool try_withdraw_oldest(T& value) noexcept { return claim_oldest(value); }  ///< Giving thread.

    /// An estimate while the other thread works.
    std::size_t size() const noexcept {
        const std::size_t tail = tail_.load(std::memory_order_acquire);
        return head_.load(std::memory_order_acquire) - tail;
    }

  private:
    static constexpr std::size_t n_words = (sizeof(T) + 7) / 8;

    class Slot {
      public:
        void write(const T& value) noexcept {
            std::array<std::uint64_t, n_words> plain{};
            std::memcpy(plain.data(), &value, sizeof value);
            for (std::size_t i = 0; i < n_words; ++i) words_[i].store(plain[i], std::memory_order_relaxed);
        }
        void read(T& value) const noexcept {
            std::array<std::uint64_t, n_words> plain;
            for (std::size_t i = 0; i < n_words; ++i) plain[i] = words_[i].load(std::memory_order_relaxed);
            std::memcpy(&value, plain.data(), sizeof value);
        }

      private:
        std::array<std::atomic<std::uint64_t>, n_words> words_{};
    };

    bool claim_oldest(T& value) noexcept {
        std::size_t tail = tail_.load(std::memory_order_acquire);
        while (tail != head_.load(std::memory_order_acquire)) {  // pairs with the release in try_give
            slots_[tail & mask_].read(value);
            // Release: the slot must be read before try_give can see it as free. A failure reloads the tail.
            if (tail_.compare_exchange_weak(tail, tail + 1, std::memory_order_acq_rel, std::memory_order_acquire))
                return true;
        }
        return false;
    }

    const std::size_t mask_;
    const std::unique_ptr<Slot[]> slots_;
    alignas(64) std::atomic<std::size_t> head_{0};
    alignas(64) std::atomic<std::size_t> tail_{0};
};

}  // namespace anello::receive

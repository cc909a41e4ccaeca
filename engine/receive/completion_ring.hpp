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

#include "receive/fragment_block.hpp"

namespace anello::receive {

/// Carries full buffers forward, from one giving to one taking thread; the giving thread may also withdraw the
/// oldest completion that was not taken yet (policy overwrite_oldest). Both ends then compete for the tail, by
/// compare-and-swap: the one that moves it owns the completion.
///
/// The taker may read a slot that the giver, having withdrawn it, already fills again; its compare-and-swap then fails
/// and what it read is thrown away. Slots are therefore words of relaxed atomics, so that this race is defined.
class CompletionRing {
    static_assert(std::is_trivially_copyable_v<Completion>);

  public:
    /// Holds at least `min_capacity` completions (rounded up to a power of two).
    explicit CompletionRing(std::size_t min_capacity)
        : mask_(std::bit_ceil(min_capacity < 2 ? 2 : min_capacity) - 1), slots_(new Slot[mask_ + 1]) {}

    std::size_t capacity() const noexcept { return mask_ + 1; }

    // Hot path, all three: no allocation, no lock, no log, no throw.
    /// Giving thread; false when full.
    bool try_give(const Completion& completion) noexcept {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head - tail_.load(std::memory_order_acquire) > mask_) return false;  // pairs with claim_oldest
        slots_[head & mask_].write(completion);
        head_.store(head + 1, std::memory_order_release);  // pairs with the acquire in claim_oldest
        return true;
    }
    bool try_take(Completion& completion) noexcept { return claim_oldest(completion); }             ///< Taking thread.
    bool try_withdraw_oldest(Completion& completion) noexcept { return claim_oldest(completion); }  ///< Giving thread.

    /// An estimate when the other side is at work.
    std::size_t size() const noexcept {
        const std::size_t tail = tail_.load(std::memory_order_acquire);
        return head_.load(std::memory_order_acquire) - tail;
    }

  private:
    static constexpr std::size_t n_words = (sizeof(Completion) + 7) / 8;

    class Slot {
      public:
        void write(const Completion& completion) noexcept {
            std::array<std::uint64_t, n_words> plain{};
            std::memcpy(plain.data(), &completion, sizeof completion);
            for (std::size_t i = 0; i < n_words; ++i) words_[i].store(plain[i], std::memory_order_relaxed);
        }
        void read(Completion& completion) const noexcept {
            std::array<std::uint64_t, n_words> plain;
            for (std::size_t i = 0; i < n_words; ++i) plain[i] = words_[i].load(std::memory_order_relaxed);
            std::memcpy(&completion, plain.data(), sizeof completion);
        }

      private:
        std::array<std::atomic<std::uint64_t>, n_words> words_{};
    };

    bool claim_oldest(Completion& completion) noexcept {
        std::size_t tail = tail_.load(std::memory_order_acquire);
        while (tail != head_.load(std::memory_order_acquire)) {  // pairs with the release in try_give
            slots_[tail & mask_].read(completion);
            // Release: the slot was read before try_give may see it free. A failure reloads the tail.
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

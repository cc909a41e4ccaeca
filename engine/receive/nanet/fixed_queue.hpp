// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "core/assert.hpp"

namespace anello::receive {

/// First in, first out, for one thread; allocates all memory at set-up.
template <typename T>
class FixedQueue {
  public:
    explicit FixedQueue(std::size_t most) : items_(std::bit_ceil(most)) {}

    // All are hot path: no allocation, no lock, no log, no throw.
    bool empty() const noexcept { return n_put_ == n_taken_; }
    std::size_t size() const noexcept { return n_put_ - n_taken_; }
    T& front() noexcept { return items_[n_taken_ & (items_.size() - 1)]; }
    void put(const T& item) noexcept {
        ANELLO_ASSERT(size() < items_.size());
        items_[n_put_++ & (items_.size() - 1)] = item;
    }
    T take() noexcept {
        ANELLO_ASSERT(!empty());
        return items_[n_taken_++ & (items_.size() - 1)];
    }

  private:
    std::vector<T> items_;
    std::size_t n_put_ = 0, n_taken_ = 0;
};

}  // namespace anello::receive

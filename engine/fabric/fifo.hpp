// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/assert.hpp"

namespace anello::fabric {

/// A bounded queue for one thread. It allocates its memory at construction.
template <typename T>
class Fifo {
  public:
    explicit Fifo(std::size_t capacity) : slots_(capacity) {}

    bool empty() const noexcept { return size_ == 0; }
    bool full() const noexcept { return size_ == slots_.size(); }
    std::size_t size() const noexcept { return size_; }

    bool try_push(const T& value) noexcept {
        if (full()) return false;
        slots_[wrap(begin_ + size_)] = value;
        ++size_;
        return true;
    }
    /// Position 0 is the oldest element.
    T& operator[](std::size_t position) noexcept {
        ANELLO_ASSERT(position < size_);
        return slots_[wrap(begin_ + position)];
    }
    T& front() noexcept { return (*this)[0]; }
    T take() noexcept {
        const T value = front();
        pop();
        return value;
    }
    void pop() noexcept {
        ANELLO_ASSERT(size_ > 0);
        begin_ = wrap(begin_ + 1);
        --size_;
    }

  private:
    std::size_t wrap(std::size_t position) const noexcept {
        return position < slots_.size() ? position : position - slots_.size();
    }

    std::vector<T> slots_;
    std::size_t begin_ = 0, size_ = 0;
};

}  // namespace anello::fabric

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace anello::memory {

/// Places columns of a structure of arrays one after the other in a buffer, each at the start of a cache line, so that
/// vector loads are aligned. With a null base it only measures.
class ColumnLayout {
  public:
    explicit ColumnLayout(std::byte* base) noexcept : base_(base) {}

    template <typename T>
    T* column(std::size_t n_items) noexcept {
        const std::size_t begin = used_bytes_;
        used_bytes_ += (n_items * sizeof(T) + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
        return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + begin);
    }
    std::size_t used_bytes() const noexcept { return used_bytes_; }

  private:
    static constexpr std::size_t cache_line_bytes = 64;

    std::byte* base_;
    std::size_t used_bytes_ = 0;
};

}  // namespace anello::memory

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace anello::receive {

/// Memory that the kernel shares with this process; the destructor unmaps it.
class SharedMapping {
  public:
    SharedMapping() noexcept = default;
    /// Maps `descriptor` from `offset`. Check mapped(); errno has the reason of a failure.
    SharedMapping(int descriptor, std::uint64_t offset, std::size_t n_bytes) noexcept;
    ~SharedMapping();
    SharedMapping(SharedMapping&& other) noexcept
        : begin_(std::exchange(other.begin_, nullptr)), n_bytes_(std::exchange(other.n_bytes_, 0)) {}
    SharedMapping& operator=(SharedMapping&& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(n_bytes_, other.n_bytes_);
        return *this;
    }

    bool mapped() const noexcept { return begin_ != nullptr; }
    std::byte* begin() const noexcept { return begin_; }
    std::size_t n_bytes() const noexcept { return n_bytes_; }

  private:
    std::byte* begin_ = nullptr;
    std::size_t n_bytes_ = 0;
};

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#include "camera/events/window/buffers.hpp"

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

bool CameraBuffers::try_take(std::uint32_t& buffer) noexcept {
    if (count_spare() == 0) return false;
    buffer = spare_[--n_spare_];
    n_spare_shown_.store(n_spare_, std::memory_order_relaxed);
    return true;
}

std::size_t CameraBuffers::count_spare() noexcept {
    std::uint32_t buffer = 0;
    while (buffers_.try_take_free(buffer)) spare_[n_spare_++] = buffer;
    n_spare_shown_.store(n_spare_, std::memory_order_relaxed);
    return n_spare_;
}

std::uint32_t CameraBuffers::buffer_of(const std::byte* base) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(base - buffers_.bytes(0).data()) /
                                      buffers_.buffer_bytes());
}

}  // namespace anello::camera

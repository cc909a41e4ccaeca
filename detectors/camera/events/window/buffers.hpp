// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/events/event.hpp"
#include "memory/persistent_buffers.hpp"

namespace anello::camera {

/// The event buffers of a builder, and which boards have a fragment in each. The building thread takes free ones, the
/// consumer's thread gives them back. Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class CameraBuffers {
  public:
    explicit CameraBuffers(const memory::BuffersConfig& config)
        : buffers_(config), present_(config.n_buffers), spare_(config.n_buffers) {}

    /// Building thread.
    bool try_take(std::uint32_t& buffer) noexcept;
    void keep_spare(std::uint32_t buffer) noexcept { spare_[n_spare_++] = buffer; }  ///< it was taken for no event
    std::size_t count_spare() noexcept;  ///< Number of free buffers that can be taken.
    BoardSet& present(std::uint32_t buffer) noexcept { return present_[buffer]; }

    /// The owner of the buffer.
    std::span<std::byte> bytes(std::uint32_t buffer) noexcept { return buffers_.bytes(buffer); }
    const BoardSet& present(std::uint32_t buffer) const noexcept { return present_[buffer]; }
    std::uint32_t buffer_of(const std::byte* base) noexcept;  ///< Inverse of bytes(): base is its begin.
    void give_back(std::uint32_t buffer) noexcept { buffers_.give_back(buffer); }  ///< Consumer's thread.

    /// Any thread.
    const memory::PersistentBuffers& memory() const noexcept { return buffers_; }
    /// Number of event buffers that no event uses; an estimate on other threads.
    std::size_t n_free() const noexcept { return buffers_.n_free() + n_spare_shown_.load(std::memory_order_relaxed); }

  private:
    memory::PersistentBuffers buffers_;
    std::vector<BoardSet> present_;     ///< by buffer
    std::vector<std::uint32_t> spare_;  ///< free buffers; the last one was given back last, and may be in the cache
    std::size_t n_spare_ = 0;
    std::atomic<std::size_t> n_spare_shown_{0};
};

}  // namespace anello::camera

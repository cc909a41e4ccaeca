// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "camera/events/event.hpp"
#include "camera/events/window/buffers.hpp"
#include "core/clock.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::camera {

/// What the consumer gets of a builder: its events and ends of runs in order, the memory of the events, and the time
/// until which all events were handed on. Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class CameraOutput {
  public:
    explicit CameraOutput(const memory::BuffersConfig& config)
        : buffers_(config), parts_(2 * std::size_t{config.n_buffers} + 2) {}

    /// Consumer's thread.
    bool try_take(CameraPart& part) noexcept { return parts_.try_take(part); }
    /// Monotonic clock. All events whose fragments from half of the boards arrived before this time were handed on.
    Nanoseconds handed_on_until_ns() const noexcept {
        return handed_on_until_ns_.load(std::memory_order_acquire);  // pairs with publish_time
    }
    bool has_parts() const noexcept { return parts_.size() > 0; }
    std::span<const std::byte> event(std::uint32_t buffer) noexcept { return buffers_.bytes(buffer); }
    const BoardSet& present(std::uint32_t buffer) const noexcept { return buffers_.present(buffer); }
    std::uint32_t buffer_of(const std::byte* base) noexcept { return buffers_.buffer_of(base); }
    void give_back(std::uint32_t buffer) noexcept { buffers_.give_back(buffer); }

    /// Building thread. The ring has room for every buffer, and for the end of a run if has_room_for_end().
    CameraBuffers& buffers() noexcept { return buffers_; }
    bool try_give(const CameraPart& part) noexcept { return parts_.try_give(part); }
    bool has_room_for_end() const noexcept { return parts_.capacity() - parts_.size() > buffers_.memory().n_buffers(); }
    /// Call it after the events that were handed on.
    void publish_time(Nanoseconds until_ns) noexcept {
        if (!has_ended_)
            handed_on_until_ns_.store(until_ns, std::memory_order_release);  // pairs with handed_on_until_ns
    }
    void end() noexcept {
        publish_time(std::numeric_limits<Nanoseconds>::max());
        has_ended_ = true;
    }

    /// Any thread.
    const memory::PersistentBuffers& memory() const noexcept { return buffers_.memory(); }
    std::size_t n_free() const noexcept { return buffers_.n_free(); }

  private:
    CameraBuffers buffers_;
    memory::SpscRing<CameraPart> parts_;
    std::atomic<Nanoseconds> handed_on_until_ns_{0};
    bool has_ended_ = false;
};

}  // namespace anello::camera

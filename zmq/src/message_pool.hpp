// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

namespace anello::zeromq {

/// Keeps the memory of large messages when they are freed, so that a new message needs no mapping and no page faults.
/// Sizes are rounded up to a quarter of a power of two; the block freed last is still cached and given first.
/// Any thread may use it: one thread makes a message and another frees it.
class MessagePool {
  public:
    static constexpr std::size_t smallest_bytes = 32 * 1024;
    static constexpr std::size_t largest_bytes = std::size_t{256} << 20;

    /// Keeps at most max_idle_bytes of idle memory; memory in use is not limited.
    explicit MessagePool(std::size_t max_idle_bytes) noexcept : max_idle_bytes_(max_idle_bytes) {}
    ~MessagePool();
    MessagePool(const MessagePool&) = delete;
    MessagePool& operator=(const MessagePool&) = delete;

    /// Returns room for header_bytes (at most 64), then for data_bytes that begin at a multiple of 64 bytes. Returns
    /// null if data_bytes is too small or too large, or if there is no memory.
    void* try_take(std::size_t header_bytes, std::size_t data_bytes) noexcept;
    void give_back(void* memory) noexcept;

    std::size_t idle_bytes() noexcept;

  private:
    struct Block;
    static constexpr std::size_t n_classes = 53;
    static std::size_t class_of(std::size_t n_bytes) noexcept;
    static std::size_t class_bytes(std::size_t index) noexcept;
    static Block* map(std::size_t index) noexcept;
    static void unmap(Block* chain) noexcept;
    Block* try_take_idle(std::size_t index) noexcept;
    Block* make_room(std::size_t n_bytes) noexcept;

    const std::size_t max_idle_bytes_;
    std::mutex mutex_;
    std::size_t idle_bytes_ = 0;
    std::array<Block*, n_classes> idle_{};
};

}  // namespace anello::zeromq

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/kernel_handle.hpp"
#include "stream/ring/ring_layout.hpp"

namespace anello::stream {

/// A ring's memory: its bytes mapped twice in a row, so that data across the end is contiguous, and its header. Create
/// it here and pass the descriptor on, or attach to the memory of another process.
class RingMemory {
  public:
    /// Allocates and touches all memory. Throws SystemError if the system refuses.
    static RingMemory create(std::size_t size_bytes);
    /// Maps memory of a process that is not trusted: `memory` must be sealed against shrinking and have exactly the
    /// size of a ring of size_bytes, as its header must say. Throws ConfigError if it has not, SystemError if it cannot
    /// be mapped.
    static RingMemory attach(Descriptor memory, std::size_t size_bytes);

    RingMemory(RingMemory&& other) noexcept;
    RingMemory& operator=(RingMemory&&) = delete;
    ~RingMemory();

    std::byte* bytes() const noexcept { return bytes_; }
    std::size_t size_bytes() const noexcept { return size_bytes_; }
    RingHeader& header() const noexcept { return *header_; }
    int descriptor() const noexcept { return memory_.number(); }

  private:
    RingMemory(Descriptor memory, std::size_t size_bytes);
    void map();
    void take_pages();
    void unmap() noexcept;

    Descriptor memory_;
    std::size_t size_bytes_ = 0;
    std::byte* reserved_ = nullptr;  ///< the range of addresses of all parts
    std::size_t reserved_bytes_ = 0;
    std::byte* bytes_ = nullptr;
    RingHeader* header_ = nullptr;
};

}  // namespace anello::stream

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/kernel_handle.hpp"
#include "stream/ring/ring_layout.hpp"

namespace anello::stream {

/// A ring's memory: its bytes mapped twice in a row, so that what wraps around its end is still in one piece, and its
/// header. Create it here and hand the descriptor on, or attach to what another process created.
class RingMemory {
  public:
    /// Takes and touches all memory. Throws SystemError where the system has or allows none.
    static RingMemory create(std::size_t size_bytes);
    /// Of a stranger: `memory` must be sealed against shrinking, exactly as large as a ring of size_bytes, and say so
    /// in its header. Throws ConfigError where it is not, SystemError where it cannot be mapped.
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
    std::byte* reserved_ = nullptr;  ///< the range of addresses that holds it all
    std::size_t reserved_bytes_ = 0;
    std::byte* bytes_ = nullptr;
    RingHeader* header_ = nullptr;
};

}  // namespace anello::stream

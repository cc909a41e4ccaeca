// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/kernel_handle.hpp"
#include "ring_share.hpp"

namespace anello::zeromq {

/// Shared memory in which the receiver uses large messages where the sender wrote them, without a second copy. The
/// sender makes one per connection and writes messages into runs of cells; the receiver returns runs in any order.
class LentMemory {
  public:
    static constexpr std::size_t cell_bytes = 16 * 1024;
    static constexpr std::size_t largest_bytes = std::size_t{1} << 30;

    /// The header before the cells. Values that the other side writes are not trusted.
    struct Header {
        std::uint64_t magic;
        std::uint64_t size_bytes;  ///< size of all cells together
        // The receiver writes the following two.
        alignas(64) std::atomic<std::uint64_t> taken_bytes;  ///< bytes of all messages that it has received so far
        alignas(64) std::atomic<std::uint64_t> n_returned;   ///< returned runs; it sets the run's flag before
    };

    /// size_bytes: a multiple of cell_bytes. Null: no memory, or the process has used up its share.
    static std::unique_ptr<LentMemory> try_create(std::size_t size_bytes) noexcept;
    /// Maps memory that a peer sent. Null unless it is sealed against shrinking and as large as its header says.
    static std::unique_ptr<LentMemory> try_attach(Descriptor memory) noexcept;
    ~LentMemory();
    LentMemory(const LentMemory&) = delete;
    LentMemory& operator=(const LentMemory&) = delete;

    /// Takes the pages of the first n_bytes now: a page that the system cannot give at its first use kills the process.
    bool try_touch(std::size_t n_bytes) noexcept;

    std::byte* cell(std::size_t index) const noexcept { return cells_ + index * cell_bytes; }
    std::size_t size_bytes() const noexcept { return size_bytes_; }
    std::size_t n_cells() const noexcept { return size_bytes_ / cell_bytes; }
    Header& header() const noexcept { return *header_; }
    std::atomic<std::uint8_t>& returned(std::size_t cell) const noexcept { return returned_[cell]; }
    int descriptor() const noexcept { return memory_.number(); }

  private:
    LentMemory(Descriptor memory, RingShare share, void* begin, std::size_t size_bytes) noexcept;
    static std::unique_ptr<LentMemory> try_map(Descriptor memory, std::size_t size_bytes) noexcept;
    static std::size_t front_bytes(std::size_t size_bytes) noexcept;

    Descriptor memory_;
    RingShare share_;
    Header* header_;
    /// Flags that follow the header, one for each cell: 1 at the first cell of a returned run. The receiver sets them,
    /// the sender clears them.
    std::atomic<std::uint8_t>* returned_;
    std::byte* cells_;
    std::size_t size_bytes_;
    std::size_t touched_bytes_ = 0;
};

/// The place of a message in lent memory. It goes through the ring instead of the message.
struct Loan {
    std::uint64_t first_cell;
    std::uint64_t n_bytes;
};

}  // namespace anello::zeromq

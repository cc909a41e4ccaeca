// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/kernel_handle.hpp"
#include "ring_share.hpp"

namespace anello::zeromq {

/// Memory in which large messages lie at the receiver as the sender put them there: no second copy. The sender makes
/// it, one for each connection, and writes messages into runs of cells; the receiver gives runs back, in any order.
class LentMemory {
  public:
    static constexpr std::size_t cell_bytes = 16 * 1024;
    static constexpr std::size_t largest_bytes = std::size_t{1} << 30;

    /// In front of the cells. What the other side writes is its word only.
    struct Header {
        std::uint64_t magic;
        std::uint64_t size_bytes;  ///< of all cells
        // Written by the receiver.
        alignas(64) std::atomic<std::uint64_t> taken_bytes;  ///< of all messages that it has seen so far
        alignas(64) std::atomic<std::uint64_t> n_returned;   ///< rises behind each flag
    };

    /// A multiple of cell_bytes. Null: no memory, or the process has its share.
    static std::unique_ptr<LentMemory> try_create(std::size_t size_bytes) noexcept;
    /// Of a stranger: sealed against shrinking, and as large as its header says.
    static std::unique_ptr<LentMemory> try_attach(Descriptor memory) noexcept;
    ~LentMemory();
    LentMemory(const LentMemory&) = delete;
    LentMemory& operator=(const LentMemory&) = delete;

    /// Takes the pages of the first n_bytes, unless they are there: one that cannot be had later kills the process.
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
    /// Behind the header, one for each cell: 1 at the first of a run that was given back. The receiver sets it, the
    /// sender clears it.
    std::atomic<std::uint8_t>* returned_;
    std::byte* cells_;
    std::size_t size_bytes_;
    std::size_t touched_bytes_ = 0;
};

/// Where a message lies: what goes through the ring in its place.
struct Loan {
    std::uint64_t first_cell;
    std::uint64_t n_bytes;
};

}  // namespace anello::zeromq

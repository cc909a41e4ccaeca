// SPDX-License-Identifier: Apache-2.0
#include "message_pool.hpp"

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <new>

namespace anello::zeromq {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr std::size_t line_bytes = 64;
/// Offset of the data: one cache line for the Block, then one for the message's header, which ends where data begin.
constexpr std::size_t data_offset = 2 * line_bytes;

}  // namespace

/// Describes the memory that follows it.
struct MessagePool::Block {
    Block* next;
    std::size_t index;         ///< number of its size class
    std::size_t mapped_bytes;  ///< size of the mapping, which begins with this block
};

MessagePool::~MessagePool() {
    for (Block* chain : idle_) unmap(chain);
}

/// Classes 0, 1, 2...: 4, 5, 6, 7 times 8 kB, then 4, 5, 6, 7 times 16 kB, and so on.
std::size_t MessagePool::class_bytes(std::size_t index) noexcept {
    return (4 + index % 4) << (13 + index / 4);
}

std::size_t MessagePool::class_of(std::size_t n_bytes) noexcept {
    if (n_bytes <= smallest_bytes) return 0;
    const auto octave = static_cast<std::size_t>(std::bit_width(n_bytes - 1)) - 16;
    const std::size_t quarter_bytes = std::size_t{1} << (octave + 13);
    return 4 * octave + (n_bytes + quarter_bytes - 1) / quarter_bytes - 4;
}

void* MessagePool::try_take(std::size_t header_bytes, std::size_t data_bytes) noexcept {
    if (data_bytes < smallest_bytes || data_bytes > largest_bytes || header_bytes > line_bytes) return nullptr;
    const std::size_t index = class_of(data_bytes);
    Block* block = try_take_idle(index);
    if (block == nullptr) block = map(index);
    if (block == nullptr) return nullptr;
    return reinterpret_cast<std::byte*>(block) + data_offset - header_bytes;
}

void MessagePool::give_back(void* memory) noexcept {
    // The header is at most one cache line long, so it begins in the block's second line whatever its length.
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    auto* const block = reinterpret_cast<Block*>((address & ~(page_bytes - 1)));
    Block* surplus = nullptr;
    {
        const std::lock_guard lock(mutex_);
        surplus = make_room(block->mapped_bytes);
        if (idle_bytes_ + block->mapped_bytes <= max_idle_bytes_) {
            block->next = idle_[block->index];
            idle_[block->index] = block;
            idle_bytes_ += block->mapped_bytes;
        } else {
            block->next = surplus;
            surplus = block;
        }
    }
    unmap(surplus);
}

std::size_t MessagePool::idle_bytes() noexcept {
    const std::lock_guard lock(mutex_);
    return idle_bytes_;
}

MessagePool::Block* MessagePool::try_take_idle(std::size_t index) noexcept {
    const std::lock_guard lock(mutex_);
    Block* const block = idle_[index];
    if (block == nullptr) return nullptr;
    idle_[index] = block->next;
    idle_bytes_ -= block->mapped_bytes;
    return block;
}

/// Removes idle blocks, largest first, until a block of n_bytes fits: blocks of a message size that is no longer used
/// must not fill the pool for ever. The caller holds the lock.
MessagePool::Block* MessagePool::make_room(std::size_t n_bytes) noexcept {
    Block* taken = nullptr;
    if (n_bytes > max_idle_bytes_) return taken;
    for (std::size_t index = n_classes; index-- > 0;) {
        while (idle_[index] != nullptr && idle_bytes_ + n_bytes > max_idle_bytes_) {
            Block* const block = idle_[index];
            idle_[index] = block->next;
            idle_bytes_ -= block->mapped_bytes;
            block->next = taken;
            taken = block;
        }
    }
    return taken;
}

/// Maps a new block. A block of at least one huge page begins at a huge page, and the system is asked for huge pages.
MessagePool::Block* MessagePool::map(std::size_t index) noexcept {
    const std::size_t n_bytes = class_bytes(index) + page_bytes;
    const std::size_t slack_bytes = n_bytes >= huge_page_bytes ? huge_page_bytes : 0;
    void* const range =
        mmap(nullptr, n_bytes + slack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range == MAP_FAILED) return nullptr;
    auto* begin = static_cast<std::byte*>(range);
    if (slack_bytes != 0) {
        const std::size_t before =
            (huge_page_bytes - reinterpret_cast<std::uintptr_t>(begin) % huge_page_bytes) % huge_page_bytes;
        if (before != 0) munmap(begin, before);
        if (before != slack_bytes) munmap(begin + before + n_bytes, slack_bytes - before);
        begin += before;
        // Huge pages are only faster: if the host gives none, small pages work, too.
        [[maybe_unused]] const int advised = madvise(begin, n_bytes, MADV_HUGEPAGE);
    }
    return new (begin) Block{nullptr, index, n_bytes};
}

void MessagePool::unmap(Block* chain) noexcept {
    while (chain != nullptr) {
        Block* const next = chain->next;
        munmap(chain, chain->mapped_bytes);
        chain = next;
    }
}

}  // namespace anello::zeromq

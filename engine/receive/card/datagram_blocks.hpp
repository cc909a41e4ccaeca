// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/persistent_buffers.hpp"
#include "receive/boards/withdrawable_ring.hpp"
#include "receive/datagrams/backend.hpp"

namespace anello::receive {

struct DatagramBlocksConfig {
    std::uint32_t n_blocks = 32;
    std::size_t block_bytes = std::size_t{1} << 20;  ///< each datagram on its own cache lines
    std::uint32_t max_datagrams = 512;               ///< per block
    memory::Kind memory = memory::Kind::host;
    /// The caller's memory, which must outlive the blocks and is divided among them: this sets block_bytes.
    std::span<std::byte> given = {};
    void validate() const;  ///< Throws ConfigError.
};

/// Carries whole datagrams from the receiving thread to another one in blocks of copies: full blocks forward, free ones
/// back.
class DatagramBlocks {
  public:
    explicit DatagramBlocks(const DatagramBlocksConfig& config);  ///< Throws ConfigError, SystemError.

    /// All are hot path: no allocation, no lock, no log, no throw. --- Receiving thread
    /// Returns false if every block is in use or the datagram is longer than a block.
    bool try_add(const Datagram& datagram) noexcept;
    /// Hands on a block that is not full yet; full blocks are always handed on.
    void hand_on() noexcept;
    bool has_open() const noexcept { return n_open_ > 0; }  ///< True if a block is not yet handed on.
    std::uint64_t n_handed_on() const noexcept { return n_handed_on_; }
    /// True if there is room for n_datagrams datagrams.
    bool has_room(std::size_t n_datagrams) noexcept;

    /// Takes back the oldest block that was handed on and not taken. Returns the number of its datagrams, which are
    /// lost, or 0.
    std::uint32_t withdraw_oldest() noexcept;

    /// --- Building thread
    /// Takes a block. Any number of blocks may be held, and given back in any order.
    bool try_take(std::span<const Datagram>& datagrams, std::uint32_t& block) noexcept;
    void give_back(std::uint32_t block) noexcept { buffers_.give_back(block); }
    std::span<const std::byte> bytes(std::uint32_t block) noexcept { return buffers_.bytes(block); }

    bool is_empty() const noexcept { return full_.size() == 0; }  ///< True if no block is handed on.
    const memory::PersistentBuffers& buffers() const noexcept { return buffers_; }

  private:
    struct Block {
        std::uint32_t buffer, n_datagrams;
    };

    Datagram* list(std::uint32_t block) noexcept { return &lists_[std::size_t{block} * config_.max_datagrams]; }
    bool open_block() noexcept;
    void take_free() noexcept;

    DatagramBlocksConfig config_;
    memory::PersistentBuffers buffers_;
    std::unique_ptr<Datagram[]> lists_;  ///< [buffer][datagram], outside of the buffers, which others may overwrite
    WithdrawableRing<Block> full_;
    std::uint32_t open_ = 0, n_open_ = 0;  ///< receiving thread
    bool has_open_ = false;
    std::size_t used_bytes_ = 0;
    std::vector<std::uint32_t> spare_;  ///< free blocks; the last returned on top, since it may still be in the cache
    std::size_t n_spare_ = 0;
    std::uint64_t n_handed_on_ = 0;
};

}  // namespace anello::receive

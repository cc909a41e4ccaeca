// SPDX-License-Identifier: Apache-2.0
#include "receive/card/datagram_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "core/assert.hpp"
#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t longest_datagram = 65536, line_bytes = 64;

constexpr std::size_t whole_lines(std::size_t n_bytes) noexcept {
    return (n_bytes + line_bytes - 1) / line_bytes * line_bytes;
}

/// The memory from its first whole cache line on.
std::span<std::byte> aligned(std::span<std::byte> memory) noexcept {
    const std::size_t n_before =
        (line_bytes - reinterpret_cast<std::uintptr_t>(memory.data()) % line_bytes) % line_bytes;
    return memory.subspan(std::min(n_before, memory.size()));
}

DatagramBlocksConfig checked(DatagramBlocksConfig config) {
    if (!config.given.empty()) {
        config.given = aligned(config.given);
        config.block_bytes = config.given.size() / std::max(config.n_blocks, 1U) / line_bytes * line_bytes;
    }
    config.validate();
    return config;
}

}  // namespace

void DatagramBlocksConfig::validate() const {
    if (block_bytes < longest_datagram || max_datagrams == 0 || max_datagrams > 65536)
        throw ConfigError("block_bytes", "a block holds at least one datagram of 65536 bytes, and at most 65536",
                          std::to_string(block_bytes) + " bytes, " + std::to_string(max_datagrams) + " datagrams",
                          "1 MiB and 512 datagrams are the default.");
}

DatagramBlocks::DatagramBlocks(const DatagramBlocksConfig& config)
    : config_(checked(config)),
      buffers_({.n_buffers = config_.n_blocks,
                .buffer_bytes = config_.block_bytes,
                .kind = config_.memory,
                .given = config_.given}),
      lists_(std::make_unique<Datagram[]>(std::size_t{config_.n_blocks} * config_.max_datagrams)),
      full_(config.n_blocks),
      spare_(config.n_blocks) {}

// Hot path from here on: no allocation, no lock, no log, no throw.
bool DatagramBlocks::try_add(const Datagram& datagram) noexcept {
    const std::size_t n_bytes = whole_lines(datagram.bytes.size());
    if (n_bytes > config_.block_bytes) return false;
    if (has_open_ && (n_open_ == config_.max_datagrams || used_bytes_ + n_bytes > config_.block_bytes)) hand_on();
    if (!has_open_ && !open_block()) return false;
    std::byte* const to = buffers_.bytes(open_).data() + used_bytes_;
    if (!datagram.bytes.empty()) std::memcpy(to, datagram.bytes.data(), datagram.bytes.size());
    Datagram& copy = list(open_)[n_open_];
    copy = datagram;
    copy.bytes = {to, datagram.bytes.size()};
    ++n_open_;
    used_bytes_ += n_bytes;
    return true;
}

bool DatagramBlocks::open_block() noexcept {
    take_free();
    if (n_spare_ == 0) return false;
    open_ = spare_[--n_spare_];
    has_open_ = true;
    n_open_ = 0;
    used_bytes_ = 0;
    return true;
}

void DatagramBlocks::take_free() noexcept {
    std::uint32_t buffer = 0;
    while (buffers_.try_take_free(buffer)) spare_[n_spare_++] = buffer;
}

void DatagramBlocks::hand_on() noexcept {
    if (!has_open_ || n_open_ == 0) return;
    [[maybe_unused]] const bool given = full_.try_give({open_, n_open_});
    ANELLO_ASSERT(given);  // there is room for every block
    ++n_handed_on_;
    has_open_ = false;
    n_open_ = 0;
}

std::uint32_t DatagramBlocks::withdraw_oldest() noexcept {
    Block oldest{};
    if (!full_.try_withdraw_oldest(oldest)) return 0;
    spare_[n_spare_++] = oldest.buffer;
    return oldest.n_datagrams;
}

bool DatagramBlocks::has_room(std::size_t n_datagrams) noexcept {
    take_free();
    const std::size_t n_per_block =
        std::min<std::size_t>(config_.max_datagrams, config_.block_bytes / longest_datagram);
    return n_spare_ >= std::min<std::size_t>(n_datagrams / n_per_block + 1, config_.n_blocks / 2);
}

bool DatagramBlocks::try_take(std::span<const Datagram>& datagrams, std::uint32_t& number) noexcept {
    Block block{};
    if (!full_.try_take(block)) return false;
    number = block.buffer;
    datagrams = {list(block.buffer), block.n_datagrams};
    return true;
}

}  // namespace anello::receive

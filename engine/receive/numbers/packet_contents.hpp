// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "receive/numbers/sequence_tracker.hpp"
#include "wire/crc32c.hpp"

namespace anello::receive {

/// Checksums of the packets of the last numbers. A repeated number must have the same content; otherwise it belongs to
/// another packet, as from a board that counts from zero again. All of it is hot path.
class PacketContents {
  public:
    /// PERF NOTE: 55 ns for 1472 bytes (wire_bench checksum_1472_bytes); the system takes some 800 ns to receive them.
    static std::uint32_t of(std::span<const std::byte> bytes) noexcept { return wire::crc32c(bytes); }
    void note(std::uint32_t sequence, std::uint32_t content) noexcept { contents_[place_of(sequence)] = content; }
    /// For a number that the tracker has seen within its window.
    bool are_same(std::uint32_t sequence, std::uint32_t content) const noexcept {
        return contents_[place_of(sequence)] == content;
    }

  private:
    static std::size_t place_of(std::uint32_t sequence) noexcept { return sequence % SequenceTracker::window; }

    std::vector<std::uint32_t> contents_ = std::vector<std::uint32_t>(SequenceTracker::window);
};

}  // namespace anello::receive

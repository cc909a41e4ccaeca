// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "receive/sequence_tracker.hpp"

namespace anello::receive {

/// What the packets of the last numbers contained, in a word each: a number that comes again brings the same, or is of
/// another packet, as those of a board that counts from zero again are.
class PacketContents {
  public:
    /// Hot path, all three. Two packets that differ have the same word once in 2^32 times.
    static std::uint32_t of(std::span<const std::byte> bytes) noexcept;
    void note(std::uint32_t sequence, std::uint32_t content) noexcept { contents_[place_of(sequence)] = content; }
    /// Of a number that the tracker has seen within its window.
    bool are_same(std::uint32_t sequence, std::uint32_t content) const noexcept {
        return contents_[place_of(sequence)] == content;
    }

  private:
    static std::size_t place_of(std::uint32_t sequence) noexcept { return sequence % SequenceTracker::window; }

    std::vector<std::uint32_t> contents_ = std::vector<std::uint32_t>(SequenceTracker::window);
};

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/assert.hpp"
#include "source/packet_plan.hpp"

namespace anello::rich {

/// Memory for the packets that are being filled or wait to be sent, allocated once.
class PacketSlots {
  public:
    PacketSlots(std::uint32_t n_slots, std::size_t packet_bytes, std::size_t slack_bytes)
        : packet_bytes_(packet_bytes), stride_((packet_bytes + slack_bytes + 63) / 64 * 64), bytes_(n_slots * stride_) {
        for (std::uint32_t slot = n_slots; slot-- > 0;) free_.push_back(slot);
    }

    // Hot path: no allocation (free_ never outgrows its first size), no lock, no log, no throw.
    std::uint32_t take() noexcept {
        ANELLO_ASSERT(!free_.empty());
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        return slot;
    }
    void give_back(std::uint32_t slot) noexcept { free_.push_back(slot); }
    std::byte* at(std::uint32_t slot) noexcept { return bytes_.data() + slot * stride_; }
    std::span<std::byte> packet(std::uint32_t slot) noexcept { return {at(slot), packet_bytes_}; }
    std::size_t packet_bytes() const noexcept { return packet_bytes_; }

  private:
    std::size_t packet_bytes_, stride_;
    std::vector<std::byte> bytes_;
    std::vector<std::uint32_t> free_;
};

/// A packet with complete content; send time and checksum are added when it is sent.
struct ClosedPacket {
    source::PacketPlan::Packet packet;
    std::uint32_t slot;
    std::uint32_t length_bytes;  ///< of the whole datagram
    std::uint32_t sequence;
    std::uint8_t flags;  ///< mgp::Flag
};

}  // namespace anello::rich

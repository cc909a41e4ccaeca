// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "receive/boards/unpacker.hpp"
#include "wire/mgp.hpp"

namespace anello::receive {

/// A board that sends MGP, and the position of its channels in the detector's hit ids.
struct MgpBoard {
    std::uint16_t source_id = 0;
    std::uint16_t first_hit_id = 0;
    std::uint16_t n_channels = wire::mgp::n_channels;  ///< hits on this channel or higher are wrong_hit
};

/// Hit id = first_hit_id + channel. The sequence number counts packets.
class MgpUnpacker final : public Unpacker {
  public:
    explicit MgpUnpacker(const MgpBoard& board) noexcept : board_(board) {}
    wire::Verdict unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                         PacketInfo& packet) noexcept override;

  private:
    wire::Verdict unpack_events(const wire::mgp::PacketView& view, FragmentWriter& writer) const noexcept;
    bool unpack_hits(const wire::mgp::EventReader& reader, const wire::mgp::EventView& event, bool with_time,
                     const FragmentWriter::HitSpace& space) const noexcept;

    const MgpBoard board_;
};

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "receive/boards/unpacker.hpp"
#include "rich/wire/mep.hpp"
#include "rich/wire/tel62.hpp"

namespace anello::rich {

/// TEL62 readout channel -> PMT; hits on a channel without a PMT are wrong_hit, trailing edges are left out; special
/// triggers and the supercells' board yield fragments without hits. Fragments tell the tick alone: their fine time is
/// 0, hit times count from the tick's begin, and the trigger finds the event's time among them. The packet's sequence
/// is its first event number and counts events from 0 in each burst; there is no burst number, so the receiver counts
/// bursts. Not detectable: what a board sent after the last event that arrived, when its end of burst was lost, and a
/// burst of fewer than SequenceTracker::window events that begins without its predecessor's end (duplicates).
class MepUnpacker final : public receive::Unpacker {
  public:
    static constexpr std::uint16_t supercell_board = 4;

    /// board: sourceSubID, 0 to 3 for PMTs, 4 the supercells.
    MepUnpacker(std::uint8_t source_id, std::uint8_t board);
    wire::Verdict unpack(std::span<const std::byte> datagram, receive::FragmentWriter& writer,
                         receive::PacketInfo& packet) noexcept override;

  private:
    wire::Verdict unpack_fragment(const wire::mep::FragmentView& fragment, receive::FragmentWriter& writer) noexcept;
    static wire::Verdict write_hits(std::span<const wire::tel62::Hit> hits, std::uint32_t timestamp_ticks,
                                    const receive::FragmentWriter::HitSpace& space) noexcept;

    wire::KnownSources known_;
    std::uint8_t board_;
    std::vector<wire::tel62::Hit> hits_;  ///< of one fragment; as many as the longest packet can hold
};

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "receive/boards/unpacker.hpp"
#include "rich/wire/mep.hpp"
#include "rich/wire/tel62.hpp"

namespace anello::rich {

/// Unpacks the TEL62 readout channels of an MEP into PMTs. Hits on a channel without a PMT are wrong_hit, trailing
/// edges are skipped; special triggers and the supercells' board give fragments without hits. A fragment's time is a
/// whole tick with fine time 0, hit times are relative to that tick, and the trigger finds the event's time from the
/// hits. The sequence number of a packet is its first event number, which counts events from 0 in each burst; there is
/// no burst number, so the receiver counts bursts. Two losses cannot be detected: the packets after the last event that
/// arrived, if the end of burst is lost too, and a burst of fewer than SequenceTracker::window events that begins
/// without its predecessor's end (it looks like duplicates).
class MepUnpacker final : public receive::Unpacker {
  public:
    static constexpr std::uint16_t supercell_board = 4;

    /// board: sourceSubID, 0 to 3 for PMTs, 4 for the supercells.
    MepUnpacker(std::uint8_t source_id, std::uint8_t board);
    wire::Verdict unpack(std::span<const std::byte> datagram, receive::FragmentWriter& writer,
                         receive::PacketInfo& packet) noexcept override;

  private:
    wire::Verdict unpack_fragment(const wire::mep::FragmentView& fragment, receive::FragmentWriter& writer) noexcept;
    static wire::Verdict write_hits(std::span<const wire::tel62::Hit> hits, std::uint32_t timestamp_ticks,
                                    const receive::FragmentWriter::HitSpace& space) noexcept;

    wire::KnownSources known_;
    std::uint8_t board_;
    std::vector<wire::tel62::Hit> hits_;  ///< of one fragment; sized for the longest packet
};

}  // namespace anello::rich

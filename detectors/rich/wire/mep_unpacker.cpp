// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/mep_unpacker.hpp"

#include <algorithm>
#include <limits>

#include "rich/wire/rich_channels.hpp"

namespace anello::rich {
namespace {

namespace mep = wire::mep;
namespace tel62 = wire::tel62;

/// The time of a hit relative to its event; both count 40 bits and wrap together.
std::int16_t relative_time(std::uint64_t hit_fine, std::uint32_t timestamp_ticks) noexcept {
    const std::uint64_t difference = hit_fine - (std::uint64_t{timestamp_ticks} << 8);
    const auto step = static_cast<std::int64_t>(difference << 24) >> 24;
    constexpr std::int64_t largest = std::numeric_limits<std::int16_t>::max();
    return static_cast<std::int16_t>(std::clamp(step, -largest, largest));
}

}  // namespace

MepUnpacker::MepUnpacker(std::uint8_t source_id, std::uint8_t board)
    : known_(source_id, static_cast<std::uint16_t>(board + 1)), board_(board), hits_(mep::max_packet_bytes / 4) {}

wire::Verdict MepUnpacker::unpack(std::span<const std::byte> datagram, receive::FragmentWriter& writer,
                                  receive::PacketInfo& packet) noexcept {
    writer.begin_packet();
    mep::PacketView view;
    wire::Verdict verdict = mep::parse(datagram, known_, view);
    if (verdict != wire::Verdict::ok) return verdict;
    if (view.header.sub_source_id != board_) return wire::Verdict::unknown_source;
    packet.has_sequence = true;
    packet.sequence = view.header.first_event_number;
    packet.sequence_step = packet.n_events = view.header.n_fragments;
    mep::FragmentReader reader(view);
    mep::FragmentView fragment;
    while (verdict == wire::Verdict::ok && reader.next(fragment)) {
        verdict = unpack_fragment(fragment, writer);
        packet.ends_burst |= fragment.last_of_burst;
    }
    return verdict;
}

wire::Verdict MepUnpacker::unpack_fragment(const mep::FragmentView& fragment,
                                           receive::FragmentWriter& writer) noexcept {
    tel62::Decoded decoded;
    if (board_ != supercell_board) {
        const wire::Verdict verdict = tel62::decode(fragment.payload, board_, fragment.timestamp_ticks,
                                                    tel62::Edges::leading_only, hits_, decoded);
        if (verdict != wire::Verdict::ok) return verdict;
    }
    receive::FragmentWriter::HitSpace space;
    if (!writer.try_open_fragment(fragment.timestamp_ticks, 0, decoded.n_hits, space))
        return wire::Verdict::too_many_hits;
    const wire::Verdict verdict = write_hits({hits_.data(), decoded.n_hits}, fragment.timestamp_ticks, space);
    if (verdict == wire::Verdict::ok) writer.close_fragment(decoded.n_hits);
    return verdict;
}

wire::Verdict MepUnpacker::write_hits(std::span<const tel62::Hit> hits, std::uint32_t timestamp_ticks,
                                      const receive::FragmentWriter::HitSpace& space) noexcept {
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const std::int32_t pmt = wire::rich::pmt_of_readout_channel(hits[i].readout_channel);
        if (pmt < 0) return wire::Verdict::wrong_hit;
        space.hit_id[i] = static_cast<std::uint16_t>(pmt);
        space.hit_time_fine[i] = relative_time(hits[i].time_fine, timestamp_ticks);
    }
    return wire::Verdict::ok;
}

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#include "receive/unpack_mgp.hpp"

#include <algorithm>

#include "detector/rich_geometry.hpp"

namespace anello::receive {
namespace {

namespace mgp = wire::mgp;
constexpr std::uint16_t n_pmts_per_board = detector::rich::n_pmts_per_board;

void describe(const mgp::PacketView& view, PacketInfo& packet) noexcept {
    const mgp::Header& header = view.header;
    packet.has_sequence = packet.has_burst_id = true;
    packet.sequence = header.sequence;
    packet.burst_id = header.burst_id;
    packet.n_events = header.n_events;
    packet.sent_ns = static_cast<Nanoseconds>(header.send_time_ns);
    if (!header.is_burst_marker()) return;
    packet.kind = (header.flags & mgp::start_of_burst) != 0 ? PacketKind::start_of_burst : PacketKind::end_of_burst;
    const mgp::Totals totals = mgp::parse_totals(view);
    packet.totals = {totals.n_packets, totals.n_events, totals.n_hits};
}

}  // namespace

MgpUnpacker::MgpUnpacker(const UnpackerConfig& config) noexcept
    : source_id_(static_cast<std::uint16_t>(config.source_id)),
      first_id_(static_cast<std::uint16_t>(config.board * n_pmts_per_board)) {}

wire::Verdict MgpUnpacker::unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                                  PacketInfo& packet) noexcept {
    writer.begin_packet();
    mgp::PacketView view;
    const wire::Verdict verdict = mgp::parse(datagram, view);
    if (verdict != wire::Verdict::ok) return verdict;
    if (view.header.source_id != source_id_) return wire::Verdict::unknown_source;
    describe(view, packet);
    return packet.kind == PacketKind::data ? unpack_events(view, writer) : wire::Verdict::ok;
}

wire::Verdict MgpUnpacker::unpack_events(const mgp::PacketView& view, FragmentWriter& writer) const noexcept {
    const bool with_time = view.header.has_hit_times();
    mgp::EventReader reader(view);
    mgp::EventView event;
    FragmentWriter::HitSpace space;
    while (reader.next(event)) {
        if (!writer.try_open_fragment(event.timestamp_ticks, event.fine_time, event.n_hits, space))
            return wire::Verdict::too_many_hits;
        if (!unpack_hits(event, with_time, space)) return wire::Verdict::wrong_hit;
        writer.close_fragment(event.n_hits);
    }
    return reader.verdict();
}

/// False when a channel has no PMT.
bool MgpUnpacker::unpack_hits(const mgp::EventView& event, bool with_time,
                              const FragmentWriter::HitSpace& space) const noexcept {
    if (with_time) {
        mgp::unpack_timed_hits(event.hits, event.n_hits, space.hit_id, space.hit_time_fine);
    } else {
        mgp::unpack_channels(event.hits, event.n_hits, space.hit_id);
        std::fill_n(space.hit_time_fine, event.n_hits, std::int16_t{0});
    }
    std::uint16_t highest = 0;
    for (std::uint32_t i = 0; i < event.n_hits; ++i) {
        highest = std::max(highest, space.hit_id[i]);
        space.hit_id[i] = static_cast<std::uint16_t>(space.hit_id[i] + first_id_);
    }
    return highest < n_pmts_per_board;
}

}  // namespace anello::receive

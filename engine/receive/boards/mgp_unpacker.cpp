// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/mgp_unpacker.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace anello::receive {
namespace {

namespace mgp = wire::mgp;

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

/// 8 channels or times in one vector register; all processors have registers of this size.
using Group [[gnu::vector_size(16)]] = std::int16_t;
constexpr std::uint32_t group_hits = 8;
static_assert(hit_slack >= mgp::unpack_slack && mgp::unpack_slack >= group_hits - 1);
constexpr Group lanes{0, 1, 2, 3, 4, 5, 6, 7};

Group load(const std::uint16_t* from) noexcept {
    Group group;
    std::memcpy(&group, from, sizeof group);
    return group;
}

void store(const Group& group, void* to) noexcept {
    std::memcpy(to, &group, sizeof group);
}

bool are_below(const Group& values, std::int16_t limit) noexcept {
    const auto not_below = std::bit_cast<std::array<std::uint64_t, 2>>(values >= limit);
    return (not_below[0] | not_below[1]) == 0;
}

}  // namespace

wire::Verdict MgpUnpacker::unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                                  PacketInfo& packet) noexcept {
    writer.begin_packet();
    mgp::PacketView view;
    const wire::Verdict verdict = mgp::parse(datagram, view);
    if (verdict != wire::Verdict::ok) return verdict;
    if (view.header.source_id != board_.source_id) return wire::Verdict::unknown_source;
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
        if (!unpack_hits(reader, event, with_time, space)) return wire::Verdict::wrong_hit;
        writer.close_fragment(event.n_hits);
    }
    return reader.verdict();
}

/// Returns false if a hit is on a channel that the board does not have. PERF NOTE: unpacks whole groups of 8 hits into
/// the slack of the columns, each group in one register. The number of hits is practically random, and a branch on it
/// costs more than a group (receive_bench).
bool MgpUnpacker::unpack_hits(const mgp::EventReader& reader, const mgp::EventView& event, bool with_time,
                              const FragmentWriter::HitSpace& space) const noexcept {
    if (with_time)
        reader.unpack_timed_hits(event, space.hit_id, space.hit_time_fine);
    else
        reader.unpack_channels(event, space.hit_id);
    Group highest{};
    for (std::uint32_t first = 0; first < event.n_hits; first += group_hits) {
        const Group channels = load(space.hit_id + first);
        const Group of_event = channels & (lanes < static_cast<std::int16_t>(event.n_hits - first));
        highest = highest > of_event ? highest : of_event;
        store(channels + static_cast<std::int16_t>(board_.first_hit_id), space.hit_id + first);
        if (!with_time) store(Group{}, space.hit_time_fine + first);
    }
    return are_below(highest, static_cast<std::int16_t>(board_.n_channels));
}

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "wire/mgp.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire::contents {
namespace {

constexpr std::size_t most_hits = 255;

Verdict walk(const mgp::PacketView& packet) noexcept {
    mgp::EventReader reader(packet);
    for (mgp::EventView event{}; reader.next(event);) continue;
    return reader.verdict();
}

void add_hits(const mgp::EventReader& reader, const mgp::EventView& event, bool has_times, std::uint64_t index,
              Table& hits) {
    std::array<std::uint16_t, most_hits + mgp::unpack_slack> channel{};
    std::array<std::int16_t, most_hits + mgp::unpack_slack> time_fine{};
    if (has_times)
        reader.unpack_timed_hits(event, channel.data(), time_fine.data());
    else
        reader.unpack_channels(event, channel.data());
    for (std::size_t i = 0; i < event.n_hits; ++i)
        if (has_times)
            add_row(hits, {index, channel[i], bits(time_fine[i])});
        else
            add_row(hits, {index, channel[i]});
}

void add_events(const mgp::PacketView& packet, Contents& contents) {
    const bool has_times = packet.header.has_hit_times();
    Table events{"events", {{"timestamp_ticks", "ticks"}, {"fine_time", "1/256 tick"}, {"n_hits", ""}}};
    Table hits{"hits", {{"event", ""}, {"channel", ""}}};
    if (has_times) hits.columns.push_back({"hit_time_fine", "1/256 tick", true});
    mgp::EventReader reader(packet);
    std::uint64_t index = 0;
    for (mgp::EventView event{}; reader.next(event); ++index) {
        add_row(events, {event.timestamp_ticks, event.fine_time, event.n_hits});
        add_hits(reader, event, has_times, index, hits);
    }
    contents.tables = {std::move(events), std::move(hits)};
}

void add_totals(const mgp::PacketView& packet, Contents& contents) {
    const mgp::Totals totals = mgp::parse_totals(packet);
    Table table{"totals", {{"n_packets", ""}, {"n_events", ""}, {"n_hits", ""}, {"payload_bytes", "bytes"}}};
    add_row(table, {totals.n_packets, totals.n_events, totals.n_hits, totals.n_bytes});
    contents.tables = {std::move(table)};
}

}  // namespace

Verdict check_mgp(Bytes datagram, Summary& summary) noexcept {
    mgp::PacketView packet;
    const Verdict verdict = mgp::parse(datagram, packet);
    if (verdict != Verdict::ok) return verdict;
    const mgp::Header& header = packet.header;
    summary = {.has_sequence = !header.is_burst_marker(),
               .says_next = header.is_burst_marker(),
               .sequence = header.sequence,
               .source_id = header.source_id,
               .n_items = header.n_events,
               .sent_ns = static_cast<std::int64_t>(header.send_time_ns)};
    return walk(packet);
}

Verdict read_mgp(Bytes datagram, Contents& contents) {
    mgp::PacketView packet;
    Verdict verdict = mgp::parse(datagram, packet);
    if (!has_header(verdict)) return verdict;
    const mgp::Header& header = packet.header;
    contents.header = {{"source_id", "", header.source_id},  {"sequence", "", header.sequence},
                       {"burst_id", "", header.burst_id},    {"n_events", "", header.n_events},
                       {"flags", "hex", header.flags},       {"length_bytes", "bytes", header.length_bytes},
                       {"checksum", "hex", header.checksum}, {"send_time_ns", "Unix time", header.send_time_ns}};
    if (verdict == Verdict::ok) verdict = walk(packet);
    if (verdict != Verdict::ok) return verdict;
    header.is_burst_marker() ? add_totals(packet, contents) : add_events(packet, contents);
    return verdict;
}

}  // namespace anello::wire::contents

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "rich/wire/mep.hpp"
#include "rich/wire/mtp.hpp"
#include "rich/wire/packet_formats.hpp"
#include "rich/wire/rich_frame.hpp"
#include "rich/wire/tel62.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire::contents {
namespace {

constexpr std::uint16_t all_sub_sources = 256;
constexpr std::uint32_t n_rich_tdc_boards = 4;  // sub-source 4 is the supercells' board, with another payload

/// All sources, for programs that do not expect particular ones.
const KnownSources& every_source() noexcept {
    static const KnownSources known = [] {
        KnownSources all;
        for (std::uint32_t id = 0; id < 256; ++id) all.expect(static_cast<std::uint8_t>(id), all_sub_sources);
        return all;
    }();
    return known;
}

void add_tel62_hits(std::span<const tel62::Hit> hits, std::uint64_t event, Table& table) {
    for (const tel62::Hit& hit : hits)
        add_row(table, {event, hit.readout_channel, hit.time_fine, static_cast<std::uint64_t>(hit.edge)});
}

/// Reads one fragment: returns its verdict, appends its hits to `hits` and its row to `events`.
Verdict read_fragment(const mep::Header& header, const mep::FragmentView& fragment, std::vector<tel62::Hit>& room,
                      Table& events, Table& hits) {
    const bool has_tel62 = header.source_id == mep::rich_source_id && header.sub_source_id < n_rich_tdc_boards;
    tel62::Decoded decoded;
    Verdict verdict = Verdict::ok;
    if (has_tel62)
        verdict = tel62::decode(fragment.payload, header.sub_source_id, fragment.timestamp_ticks, tel62::Edges::both,
                                room, decoded);
    add_tel62_hits(std::span(room).first(verdict == Verdict::ok ? decoded.n_hits : 0), events.columns[0].values.size(),
                   hits);
    add_row(events,
            {fragment.event_number, fragment.timestamp_ticks, fragment.last_of_burst ? 1U : 0U, fragment.payload.size(),
             decoded.trigger_type, decoded.n_hits, decoded.n_error_words, static_cast<std::uint64_t>(verdict)});
    return verdict;
}

}  // namespace

Verdict check_mep(Bytes datagram, Summary& summary) noexcept {
    mep::PacketView packet;
    const Verdict verdict = mep::parse(datagram, every_source(), packet);
    if (verdict != Verdict::ok) return verdict;
    const mep::Header& header = packet.header;
    summary = {.has_sequence = true,
               .sequence = header.first_event_number,
               .n_numbers = header.n_fragments,
               .source_id = std::uint32_t{header.source_id} << 8 | header.sub_source_id,
               .n_items = header.n_fragments};
    return verdict;
}

Verdict read_mep(Bytes datagram, Contents& contents) {
    mep::PacketView packet;
    Verdict verdict = mep::parse(datagram, every_source(), packet);
    if (!has_header(verdict)) return verdict;
    const mep::Header& header = packet.header;
    contents.header = {{"source_id", "hex", header.source_id},
                       {"sub_source_id", "", header.sub_source_id},
                       {"first_event_number", "", header.first_event_number},
                       {"n_fragments", "", header.n_fragments},
                       {"length_bytes", "bytes", header.length_bytes}};
    if (verdict != Verdict::ok) return verdict;
    Table events{"events",
                 {{"event_number", ""},
                  {"timestamp_ticks", "ticks"},
                  {"last_of_burst", ""},
                  {"payload_bytes", "bytes"},
                  {"trigger_type", "hex"},
                  {"n_hits", ""},
                  {"n_error_words", ""},
                  {"verdict", "verdict"}}};
    Table hits{"hits", {{"event", ""}, {"readout_channel", ""}, {"time_fine", "1/256 tick"}, {"edge", ""}}};
    std::vector<tel62::Hit> room(mep::max_packet_bytes / sizeof(std::uint32_t));
    mep::FragmentReader reader(packet);
    for (mep::FragmentView fragment{}; reader.next(fragment);) {
        const Verdict of_fragment = read_fragment(header, fragment, room, events, hits);
        if (verdict == Verdict::ok) verdict = of_fragment;
    }
    contents.tables = {std::move(events), std::move(hits)};
    return verdict;
}

Verdict check_mtp(Bytes datagram, Summary& summary) noexcept {
    mtp::PacketView packet;
    const Verdict verdict = mtp::parse(datagram, every_source(), packet);
    if (verdict != Verdict::ok) return verdict;
    const mtp::Header& header = packet.header;
    summary = {.has_sequence = true,
               .sequence = header.frame,
               .source_id = std::uint32_t{header.source_id} << 8 | header.sub_source_id,
               .n_items = header.n_primitives};
    return verdict;
}

Verdict read_mtp(Bytes datagram, Contents& contents) {
    mtp::PacketView packet;
    const Verdict verdict = mtp::parse(datagram, every_source(), packet);
    if (!has_header(verdict)) return verdict;
    const mtp::Header& header = packet.header;
    contents.header = {{"source_id", "hex", header.source_id},
                       {"sub_source_id", "", header.sub_source_id},
                       {"frame", "6.4 us", header.frame},
                       {"n_primitives", "", header.n_primitives},
                       {"length_bytes", "bytes", header.length_bytes}};
    if (verdict != Verdict::ok) return verdict;
    Table primitives{"primitives", {{"id", "hex"}, {"timestamp_ticks", "ticks"}, {"fine_time", "1/256 tick"}}};
    mtp::PrimitiveReader reader(packet);
    for (mtp::Primitive primitive{}; reader.next(primitive);)
        add_row(primitives, {primitive.id, primitive.timestamp_ticks, primitive.fine_time});
    contents.tables = {std::move(primitives)};
    return verdict;
}

Verdict check_rich_frame(Bytes fragment, Summary& summary) noexcept {
    summary = {};
    rich_frame::Reader reader(fragment, 0);
    for (rich_frame::Record record; reader.next(record);) ++summary.n_items;
    return reader.n_bytes_left() == 0 ? Verdict::ok : Verdict::event_truncated;
}

Verdict read_rich_frame(Bytes fragment, Contents& contents) {
    Summary summary;
    const Verdict verdict = check_rich_frame(fragment, summary);
    if (verdict != Verdict::ok) return verdict;
    Table events{"events",
                 {{"timestamp_ticks", "ticks"},
                  {"fine_time", "1/256 tick"},
                  {"board", ""},
                  {"n_hits", ""},
                  {"sent_ns", "low half"},
                  {"kernel_ns", "low half"}}};
    Table hits{"hits", {{"event", ""}, {"hit_id", ""}, {"hit_time_fine", "1/256 tick", true}}};
    rich_frame::Reader reader(fragment, 0);
    for (rich_frame::Record record; reader.next(record);) {
        for (std::size_t i = 0; i < record.n_hits; ++i)
            add_row(hits, {events.columns[0].values.size(), load_le<std::uint16_t>(record.hit_id + 2 * i),
                           bits(load_le<std::int16_t>(record.hit_time_fine + 2 * i))});
        add_row(events, {record.timestamp_ticks, record.fine_time, record.board, record.n_hits,
                         static_cast<std::uint32_t>(record.sent_ns), static_cast<std::uint32_t>(record.kernel_ns)});
    }
    contents.tables = {std::move(events), std::move(hits)};
    return verdict;
}

}  // namespace anello::wire::contents

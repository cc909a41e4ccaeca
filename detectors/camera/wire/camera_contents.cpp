// SPDX-License-Identifier: Apache-2.0
#include "camera/wire/camera.hpp"
#include "camera/wire/camera_group.hpp"
#include "camera/wire/packet_formats.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire::contents {
namespace {

void add_board_counters(const camera::Header& header, Contents& contents) {
    contents.header.push_back({"counters_kind", "", static_cast<std::uint64_t>(header.counters_kind)});
    if (header.counters_kind == camera::CountersKind::none) return;
    constexpr const char* names[]{"counters_0", "counters_8", "counters_16"};
    for (std::size_t i = 0; i < std::size(names); ++i)
        contents.header.push_back({names[i], "hex", load_le<std::uint64_t>(header.counters.data() + 8 * i)});
}

Table totals_of(Bytes datagram) {
    const camera::Totals totals = camera::parse_totals(datagram);
    Table table{"totals", {{"n_fragments", ""}, {"payload_bytes", "bytes"}, {"first_event", ""}, {"next_event", ""}}};
    add_row(table, {totals.n_fragments, totals.n_bytes, totals.first_event, totals.next_event});
    return table;
}

/// Samples in the order [gain][pixel][sample], one per row.
Table samples_of(Bytes payload) {
    Table table{"samples", {{"sample", "ADC counts"}}};
    for (std::size_t at = 0; at + 1 < payload.size(); at += 2)
        add_row(table, {load_le<std::uint16_t>(payload.data() + at)});
    return table;
}

Table first_cells_of(Bytes datagram) {
    Table table{"first_cells", {{"chip", ""}, {"cell", ""}}};
    const camera::FirstCells cells = camera::read_first_cells(datagram);
    for (std::size_t chip = 0; chip < cells.size(); ++chip) add_row(table, {chip, cells[chip]});
    return table;
}

Verdict parse_whole(Bytes datagram, camera::Header& header) noexcept {
    const Verdict verdict = camera::parse(datagram, header);
    return verdict == Verdict::ok ? camera::verify(datagram, header) : verdict;
}

}  // namespace

Verdict check_camera(Bytes datagram, Summary& summary) noexcept {
    camera::Header header;
    const Verdict verdict = parse_whole(datagram, header);
    if (verdict != Verdict::ok) return verdict;
    summary = {.has_sequence = !header.is_marker(),
               .says_next = header.is_marker(),
               .sequence = header.sequence,
               .source_id = header.board,
               .n_items = header.is_marker() ? 0U : 1U};
    return verdict;
}

Verdict read_camera(Bytes datagram, Contents& contents) {
    camera::Header header;
    const Verdict verdict = parse_whole(datagram, header);
    if (!has_header(verdict)) return verdict;
    contents.header = {{"board", "", header.board},
                       {"run_id", "", header.run_id},
                       {"event_number", "", header.event_number},
                       {"sequence", "", header.sequence},
                       {"timestamp_ns", "ns", header.timestamp_ns},
                       {"n_gains", "", header.n_gains},
                       {"n_pixels", "", header.n_pixels},
                       {"n_samples", "", header.n_samples},
                       {"flags", "hex", header.flags},
                       {"trigger_tag", "hex", header.trigger_tag},
                       {"payload_bytes", "bytes", header.payload_bytes},
                       {"checksum", "hex", header.checksum}};
    if ((header.flags & camera::gain_selected) != 0) contents.header.push_back({"low_gain", "hex", header.low_gain()});
    add_board_counters(header, contents);
    if (verdict != Verdict::ok) return verdict;
    if (header.is_marker())
        contents.tables = {totals_of(datagram)};
    else if (header.n_samples > 0)
        contents.tables = {samples_of(datagram.subspan(camera::header_bytes, header.waveform_bytes()))};
    if (header.has_first_cells()) contents.tables.push_back(first_cells_of(datagram));
    return verdict;
}

Verdict check_camera_group(Bytes group, Summary& summary) noexcept {
    camera_group::GroupView view;
    const Verdict verdict = camera_group::parse(group, view);
    if (verdict != Verdict::ok) return verdict;
    summary = {.has_sequence = true,
               .sequence = view.header.event_number,
               .n_numbers = 0,  // groups are of built and kept events, so gaps have no meaning
               .source_id = view.header.first_board,
               .n_items = view.header.n_present};
    return verdict;
}

Verdict read_camera_group(Bytes group, Contents& contents) {
    camera_group::GroupView view;
    const Verdict verdict = camera_group::parse(group, view);
    if (!has_header(verdict) || verdict == Verdict::wrong_flags) return verdict;
    const camera_group::Header& header = view.header;
    contents.header = {{"first_board", "", header.first_board},
                       {"n_boards", "", header.n_boards},
                       {"n_present", "", header.n_present},
                       {"slot_bytes", "bytes", header.slot_bytes},
                       {"run_id", "", header.run_id},
                       {"event_number", "", header.event_number},
                       {"timestamp_ns", "ns", header.timestamp_ns},
                       {"first_ns", "Unix time", bits(header.first_ns), true},
                       {"closed_ns", "Unix time", bits(header.closed_ns), true}};
    if (verdict != Verdict::ok) return verdict;
    Table boards{"boards", {{"board", ""}, {"offset_bytes", "bytes"}}};
    for (std::size_t i = 0; i < header.n_boards; ++i)
        if (view.has(i))
            add_row(boards,
                    {header.first_board + i, camera_group::slots_offset(header.n_boards) + i * header.slot_bytes});
    contents.tables = {std::move(boards)};
    return verdict;
}

}  // namespace anello::wire::contents

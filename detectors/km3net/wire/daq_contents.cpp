// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "km3net/wire/daq.hpp"
#include "km3net/wire/packet_formats.hpp"
#include "wire/bytes.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire::contents {
namespace {

constexpr std::uint64_t tick_ns = 16, ns_per_s = 1'000'000'000;

/// The rate as coded in one byte of a summary slice.
std::uint64_t rate_hz(std::byte rate) noexcept {
    constexpr double least_hz = 2000, most_hz = 2e6, n_steps = 255;
    const auto step = static_cast<double>(rate);
    return step > 0 ? static_cast<std::uint64_t>(std::lround(least_hz * std::pow(most_hz / least_hz, step / n_steps)))
                    : 0;
}

void add_frame(Table& frames, const daq::Status& status, std::uint64_t n_hits) {
    add_row(frames,
            {status.dom_id, status.n_received, status.largest_sequence, status.board[0], status.board[1], n_hits});
}

Table frame_table(const char* last, const char* unit) {
    return {"frames",
            {{"dom_id", ""},
             {"n_received", ""},
             {"largest_sequence", ""},
             {"status1", "hex"},
             {"status2", "hex"},
             {last, unit}}};
}

void read_slice(const daq::MessageView& view, Contents& contents) {
    Table frames = frame_table("n_hits", ""),
          hits{"hits", {{"event", ""}, {"channel", ""}, {"time_ns", "ns"}, {"time_over_threshold_ns", "ns"}}};
    daq::FrameReader reader(view);
    std::uint64_t row = 0;
    for (daq::Frame frame; reader.next(frame); ++row) {
        add_frame(frames, frame.status, frame.hits.size() / daq::hit_bytes);
        for (std::size_t at = 0; at < frame.hits.size(); at += daq::hit_bytes) {
            const std::byte* const hit = frame.hits.data() + at;
            add_row(hits, {row, static_cast<std::uint64_t>(hit[0]), load_be<std::uint32_t>(hit + 1),
                           static_cast<std::uint64_t>(hit[5])});
        }
    }
    contents.tables = {std::move(frames), std::move(hits)};
}

void read_summary(const daq::MessageView& view, Contents& contents) {
    Table frames = frame_table("n_rates", ""), rates{"rates", {{"event", ""}, {"channel", ""}, {"rate_hz", "Hz"}}};
    daq::FrameReader reader(view);
    std::uint64_t row = 0;
    for (daq::RateFrame frame; reader.next(frame); ++row) {
        add_frame(frames, frame.status, frame.rates.size());
        for (std::size_t channel = 0; channel < frame.rates.size(); ++channel)
            add_row(rates, {row, channel, rate_hz(frame.rates[channel])});
    }
    contents.tables = {std::move(frames), std::move(rates)};
}

Table hit_table(const char* name, Bytes items, std::size_t item_bytes) {
    Table table{name, {{"dom_id", ""}, {"channel", ""}, {"time_ns", "ns"}, {"time_over_threshold_ns", "ns"}}};
    for (std::size_t at = 0; at < items.size(); at += item_bytes) {
        const std::byte* const item = items.data() + at;
        add_row(table, {load_le<std::uint32_t>(item), static_cast<std::uint64_t>(item[4]),
                        load_be<std::uint32_t>(item + 5), static_cast<std::uint64_t>(item[9])});
    }
    return table;
}

void read_event(const daq::MessageView& view, Contents& contents) {
    contents.header.push_back({"number", "", view.number});
    contents.header.push_back({"trigger_mask", "hex", view.mask});
    contents.header.push_back({"n_overlays", "", view.n_overlays});
    contents.tables = {hit_table("triggered", view.triggered, daq::triggered_bytes),
                       hit_table("snapshot", view.snapshot, daq::snapshot_bytes)};
}

}  // namespace

bool begins_daq(Bytes datagram) noexcept {
    return daq::message_bytes(datagram) > 0;
}

Verdict check_daq(Bytes datagram, Summary& summary) noexcept {
    daq::MessageView view;
    const Verdict verdict = daq::parse(datagram, view);
    if (verdict != Verdict::ok) return verdict;
    summary = {.source_id = view.header.origin.detector,
               .n_items = view.n_frames + static_cast<std::uint32_t>(view.triggered.size() / daq::triggered_bytes)};
    return verdict;
}

Verdict read_daq(Bytes datagram, Contents& contents) {
    daq::MessageView view;
    const Verdict verdict = daq::parse(datagram, view);
    if (!has_header(verdict)) return verdict;
    const daq::Origin& origin = view.header.origin;
    contents.header = {{"type", "", static_cast<std::uint64_t>(view.header.type)},
                       {"detector", "", origin.detector},
                       {"run", "", origin.run},
                       {"frame_index", "", origin.frame_index},
                       {"begins", "Unix time", origin.utc_s * ns_per_s + origin.ticks * tick_ns}};
    if (verdict != Verdict::ok) return verdict;
    if (daq::is_slice(view.header.type))
        read_slice(view, contents);
    else if (view.header.type == daq::Type::summary)
        read_summary(view, contents);
    else
        read_event(view, contents);
    return verdict;
}

}  // namespace anello::wire::contents

// SPDX-License-Identifier: Apache-2.0
#include "km3net/wire/clb.hpp"
#include "km3net/wire/packet_formats.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire::contents {

namespace {

/// The number of a slice of 100 ms, counted from 1970; it wraps at 32 bits.
std::uint32_t slice_of(const clb::Header& header) noexcept {
    constexpr std::uint32_t per_s = 10, slice_16ns = 6'250'000;
    return header.utc_s * per_s + header.utc_16ns / slice_16ns;
}

}  // namespace

Verdict check_clb(Bytes datagram, Summary& summary) noexcept {
    clb::PacketView packet;
    const Verdict verdict = clb::parse(datagram, {}, packet);
    if (verdict != Verdict::ok) return verdict;
    summary = {.has_sequence = true,
               .sequence = packet.header.udp_sequence,
               .series = slice_of(packet.header),
               .source_id = packet.header.dom_id,
               .n_items = packet.n_hits()};
    return verdict;
}

Verdict read_clb(Bytes datagram, Contents& contents) {
    clb::PacketView packet;
    const Verdict verdict = clb::parse(datagram, {}, packet);
    if (!has_header(verdict)) return verdict;
    const clb::Header& header = packet.header;
    contents.header = {{"dom_id", "", header.dom_id},
                       {"run_number", "", header.run_number},
                       {"udp_sequence", "", header.udp_sequence},
                       {"utc_s", "s", header.utc_s},
                       {"utc_16ns", "16 ns", header.utc_16ns},
                       {"dom_status", "hex", header.dom_status}};
    if (verdict != Verdict::ok) return verdict;
    std::vector<clb::Hit> unpacked(packet.n_hits());
    clb::unpack(packet, unpacked.data());
    Table hits{"hits", {{"channel", ""}, {"time_ns", "ns"}, {"time_over_threshold_ns", "ns"}}};
    for (const clb::Hit& hit : unpacked) add_row(hits, {hit.channel, hit.time_ns, hit.time_over_threshold_ns});
    contents.tables = {std::move(hits)};
    return verdict;
}

}  // namespace anello::wire::contents

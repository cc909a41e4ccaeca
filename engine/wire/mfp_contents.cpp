// SPDX-License-Identifier: Apache-2.0
#include "wire/mfp.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire::contents {

Verdict check_mfp(Bytes packet, Summary& summary) noexcept {
    mfp::PacketView view;
    const Verdict verdict = mfp::parse(packet, view);
    if (verdict != Verdict::ok) return verdict;
    summary = {.source_id = view.header.source_id, .n_items = view.header.n_fragments, .sent_ns = view.header.ready_ns};
    mfp::FragmentReader reader(view);
    for (std::span<const std::byte> fragment; reader.next(fragment);)
        if (reader.verify() != Verdict::ok) return Verdict::wrong_checksum;
    return verdict;
}

Verdict read_mfp(Bytes packet, Contents& contents) {
    mfp::PacketView view;
    Verdict verdict = mfp::parse(packet, view);
    if (!has_header(verdict)) return verdict;
    const mfp::Header& header = view.header;
    contents.header = {{"source_id", "", header.source_id},
                       {"run_id", "", header.run_id},
                       {"first_event", "", header.first_event},
                       {"n_fragments", "", header.n_fragments},
                       {"flags", "hex", header.flags},
                       {"alignment_log2", "log2 bytes", header.alignment_log2},
                       {"length_bytes", "bytes", header.length_bytes},
                       {"checksum", "hex", header.checksum},
                       {"ready_ns", "Unix time", bits(header.ready_ns), true}};
    if (verdict != Verdict::ok) return verdict;
    Table fragments{
        "fragments",
        {{"event_number", ""}, {"offset_bytes", "bytes"}, {"length_bytes", "bytes"}, {"verdict", "verdict"}}};
    mfp::FragmentReader reader(view);
    std::uint64_t event = header.first_event;
    for (std::span<const std::byte> fragment; reader.next(fragment); ++event) {
        const Verdict of_fragment = reader.verify();
        if (of_fragment != Verdict::ok) verdict = of_fragment;
        const auto offset = static_cast<std::size_t>(fragment.data() - packet.data());
        add_row(fragments, {event, offset, fragment.size(), static_cast<std::uint64_t>(of_fragment)});
    }
    contents.tables = {std::move(fragments)};
    return verdict;
}

}  // namespace anello::wire::contents

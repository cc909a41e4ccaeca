// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "camera/wire/camera.hpp"
#include "km3net/wire/clb.hpp"
#include "rich/wire/mep.hpp"
#include "rich/wire/mtp.hpp"
#include "rich/wire/tel62.hpp"
#include "wire/bytes.hpp"
#include "wire/mgp.hpp"

namespace anello::wire {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
T below(std::uint64_t limit) {
    return static_cast<T>(*rc::gen::inRange<std::uint64_t>(0, limit));
}

struct MgpEvent {
    std::uint32_t timestamp_ticks;
    std::uint8_t fine_time;
    std::vector<mgp::Hit> hits;
};

std::vector<MgpEvent> some_mgp_events() {
    std::vector<MgpEvent> events(1 + below<std::size_t>(20));
    for (MgpEvent& event : events) {
        event.timestamp_ticks = *rc::gen::arbitrary<std::uint32_t>();
        event.fine_time = *rc::gen::arbitrary<std::uint8_t>();
        event.hits.resize(below<std::size_t>(below<int>(8) == 0 ? 256 : 20));
        for (mgp::Hit& hit : event.hits)
            hit = {below<std::uint16_t>(512), static_cast<std::int16_t>(4 * (below<int>(128) - 64))};
    }
    return events;
}

Bytes mgp_packet(const std::vector<MgpEvent>& events, std::uint8_t flags) {
    Bytes datagram(mgp::header_bytes + events.size() * 600);
    std::size_t n_bytes = 0;
    for (const MgpEvent& event : events)
        n_bytes += mgp::write_event(std::span(datagram).subspan(mgp::header_bytes + n_bytes), event.timestamp_ticks,
                                    event.fine_time, event.hits, (flags & mgp::hits_with_time) != 0);
    const mgp::Header header{.flags = flags,
                             .source_id = *rc::gen::arbitrary<std::uint16_t>(),
                             .n_events = static_cast<std::uint16_t>(events.size()),
                             .sequence = *rc::gen::arbitrary<std::uint32_t>()};
    datagram.resize(mgp::seal(datagram, header, n_bytes));
    return datagram;
}

/// All checks, events included.
Verdict mgp_verdict(std::span<const std::byte> datagram) {
    mgp::PacketView packet;
    const Verdict verdict = mgp::parse(datagram, packet);
    if (verdict != Verdict::ok) return verdict;
    mgp::EventReader reader(packet);
    mgp::EventView event{};
    while (reader.next(event)) {
        std::vector<std::uint16_t> channel(event.n_hits);
        std::vector<std::int16_t> time(event.n_hits);
        if (packet.header.has_hit_times()) {
            mgp::unpack_timed_hits(event.hits, event.n_hits, channel.data(), time.data());
        } else {
            mgp::unpack_channels(event.hits, event.n_hits, channel.data());
        }
    }
    return reader.verdict();
}

RC_GTEST_PROP(MgpProperty, ReadsEveryEventItWrote, ()) {
    const auto events = some_mgp_events();
    const bool with_time = *rc::gen::arbitrary<bool>();
    Bytes datagram = mgp_packet(events, with_time ? mgp::hits_with_time : mgp::with_checksum);
    mgp::PacketView packet;
    datagram.shrink_to_fit();  // the sanitizer then sees reads beyond the packet
    RC_ASSERT(mgp::parse(datagram, packet) == Verdict::ok);
    mgp::EventReader reader(packet);
    mgp::EventView view{};
    for (const MgpEvent& event : events) {
        RC_ASSERT(reader.next(view));
        RC_ASSERT(view.timestamp_ticks == event.timestamp_ticks && view.fine_time == event.fine_time);
        RC_ASSERT(view.n_hits == event.hits.size());
        const Bytes exact(view.hits.begin(), view.hits.end());
        std::vector<std::uint16_t> channel(view.n_hits);
        std::vector<std::int16_t> time(view.n_hits);
        with_time ? mgp::unpack_timed_hits(exact, view.n_hits, channel.data(), time.data())
                  : mgp::unpack_channels(exact, view.n_hits, channel.data());
        for (std::size_t i = 0; i < event.hits.size(); ++i) {
            RC_ASSERT(channel[i] == event.hits[i].channel);
            RC_ASSERT(!with_time || time[i] == event.hits[i].time_fine);
        }
        std::vector<std::uint16_t> roomy_channel(view.n_hits + mgp::unpack_slack);
        std::vector<std::int16_t> roomy_time(view.n_hits + mgp::unpack_slack);
        with_time ? reader.unpack_timed_hits(view, roomy_channel.data(), roomy_time.data())
                  : reader.unpack_channels(view, roomy_channel.data());
        RC_ASSERT(std::equal(channel.begin(), channel.end(), roomy_channel.begin()));
        RC_ASSERT(!with_time || std::equal(time.begin(), time.end(), roomy_time.begin()));
    }
    RC_ASSERT(!reader.next(view));
    RC_ASSERT(reader.verdict() == Verdict::ok);
}

RC_GTEST_PROP(MgpProperty, NoTruncationIsOk, ()) {
    const Bytes datagram = mgp_packet(some_mgp_events(), below<std::uint8_t>(4));
    for (std::size_t n = 0; n < datagram.size(); ++n) {
        const Bytes exact(datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(n));
        RC_ASSERT(mgp_verdict(exact) != Verdict::ok);
    }
}

RC_GTEST_PROP(MgpProperty, NoFlippedBitIsOkUnderAChecksum, ()) {
    Bytes datagram = mgp_packet(some_mgp_events(), mgp::with_checksum | below<std::uint8_t>(2));
    RC_ASSERT(mgp_verdict(datagram) == Verdict::ok);
    for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
        const auto mask = std::byte{1} << (bit % 8);
        datagram[bit / 8] ^= mask;
        RC_ASSERT(mgp_verdict(datagram) != Verdict::ok);
        datagram[bit / 8] ^= mask;
    }
}

camera::Header some_camera_header(std::uint8_t flags) {
    camera::Header header{.flags = flags,
                          .board = *rc::gen::arbitrary<std::uint16_t>(),
                          .run_id = *rc::gen::arbitrary<std::uint32_t>(),
                          .event_number = *rc::gen::arbitrary<std::uint32_t>(),
                          .sequence = *rc::gen::arbitrary<std::uint32_t>(),
                          .timestamp_ns = *rc::gen::arbitrary<std::uint64_t>(),
                          .counters_kind = static_cast<camera::CountersKind>(below<int>(5)),
                          .trigger_tag = below<std::uint8_t>(128)};
    for (std::byte& byte : header.counters) byte = std::byte{*rc::gen::arbitrary<std::uint8_t>()};
    return header;
}

camera::FirstCells some_first_cells() {
    camera::FirstCells cells;
    for (std::uint16_t& cell : cells) cell = below<std::uint16_t>(camera::drs4_cells);
    return cells;
}

/// Half of them waveforms, half bytes without shape; with first cells, waveforms of 7 pixels.
Bytes camera_fragment(camera::Header& header) {
    if (header.has_first_cells()) {
        header.n_gains = static_cast<std::uint8_t>(1 + below<int>(2));
        header.n_pixels = camera::drs4_pixels;
        header.n_samples = static_cast<std::uint16_t>(1 + below<int>(60));
    } else if (*rc::gen::arbitrary<bool>()) {
        header.n_gains = below<std::uint8_t>(3);
        header.n_pixels = below<std::uint8_t>(8);
        header.n_samples = below<std::uint16_t>(61);
    }
    const int n_values = header.n_gains * header.n_pixels * header.n_samples;
    header.payload_bytes = header.n_samples > 0 ? static_cast<std::uint16_t>(2 * n_values) : below<std::uint16_t>(500);
    if (header.has_first_cells()) header.payload_bytes += camera::first_cells_bytes;
    Bytes datagram(camera::header_bytes + header.payload_bytes);
    for (std::byte& byte : datagram) byte = std::byte{below<std::uint8_t>(256)};
    if (header.has_first_cells()) camera::write_first_cells(datagram, some_first_cells());
    RC_ASSERT(camera::seal(datagram, header) == datagram.size());
    return datagram;
}

Bytes camera_marker(camera::Header& header, const camera::Totals& totals) {
    Bytes datagram(camera::header_bytes + camera::totals_bytes);
    header.payload_bytes = camera::totals_bytes;
    header.trigger_tag = 0;
    RC_ASSERT(camera::write_marker(datagram, header, totals) == datagram.size());
    return datagram;
}

Verdict camera_verdict(std::span<const std::byte> datagram) {
    camera::Header header;
    const Verdict verdict = camera::parse(datagram, header);
    return verdict == Verdict::ok ? camera::verify(datagram, header) : verdict;
}

RC_GTEST_PROP(CameraProperty, ReadsEveryHeaderItWrote, ()) {
    camera::Header header = some_camera_header(below<std::uint8_t>(2));
    const Bytes datagram = camera_fragment(header);
    camera::Header read;
    RC_ASSERT(camera::parse(datagram, read) == Verdict::ok);
    RC_ASSERT(camera::verify(datagram, read) == Verdict::ok);
    Bytes again(datagram);
    std::fill_n(again.begin(), camera::header_bytes, std::byte{0});
    RC_ASSERT(camera::seal(again, read) == datagram.size());
    RC_ASSERT(again == datagram);
    read.checksum = 0;
    RC_ASSERT(read == header);
}

RC_GTEST_PROP(CameraProperty, AChosenGainIsReadBack, ()) {
    camera::Header header = some_camera_header(camera::gain_selected | below<std::uint8_t>(2));
    header.counters_kind = camera::CountersKind::none;
    header.n_gains = 1;
    header.n_pixels = static_cast<std::uint8_t>(1 + below<int>(16));
    header.n_samples = static_cast<std::uint16_t>(1 + below<int>(40));
    header.payload_bytes = static_cast<std::uint16_t>(2 * header.n_pixels * header.n_samples);
    const auto low = below<std::uint32_t>(1U << header.n_pixels);
    wire::store_le(header.counters.data() + 22, static_cast<std::uint16_t>(low));
    Bytes datagram(camera::header_bytes + header.payload_bytes);
    camera::seal(datagram, header);
    camera::Header read;
    RC_ASSERT(camera::parse(datagram, read) == Verdict::ok);
    RC_ASSERT(read.low_gain() == low);
}

RC_GTEST_PROP(CameraProperty, FirstCellsStandBehindTheWaveforms, ()) {
    camera::Header header = some_camera_header(below<std::uint8_t>(2));
    header.counters_kind = camera::CountersKind::dragon_drs4;
    Bytes datagram = camera_fragment(header);
    const camera::FirstCells cells = some_first_cells();
    camera::write_first_cells(datagram, cells);
    camera::seal(datagram, header);
    camera::Header read;
    RC_ASSERT(camera::parse(datagram, read) == Verdict::ok);
    RC_ASSERT(camera::read_first_cells(datagram) == cells);
    RC_ASSERT(read.waveform_bytes() == std::size_t{2} * header.n_gains * header.n_pixels * header.n_samples);
    camera::FirstCells wrong = cells;
    wrong[below<std::size_t>(camera::drs4_chips)] = static_cast<std::uint16_t>(4096 + below<int>(65536 - 4096));
    camera::write_first_cells(datagram, wrong);
    camera::seal(datagram, header);
    RC_ASSERT(camera::parse(datagram, read) == Verdict::wrong_flags);
}

RC_GTEST_PROP(CameraProperty, ReadsEveryMarkerItWrote, ()) {
    const std::uint8_t which = below<int>(2) == 0 ? camera::start_of_run : camera::end_of_run;
    camera::Header header = some_camera_header(which | camera::with_checksum);
    const camera::Totals totals{.n_fragments = *rc::gen::arbitrary<std::uint64_t>(),
                                .n_bytes = *rc::gen::arbitrary<std::uint64_t>(),
                                .first_event = *rc::gen::arbitrary<std::uint32_t>(),
                                .next_event = *rc::gen::arbitrary<std::uint32_t>()};
    const Bytes datagram = camera_marker(header, totals);
    camera::Header read;
    RC_ASSERT(camera::parse(datagram, read) == Verdict::ok);
    RC_ASSERT(camera::verify(datagram, read) == Verdict::ok);
    RC_ASSERT(camera::parse_totals(datagram) == totals);
    read.checksum = 0;
    RC_ASSERT(read == header);
}

RC_GTEST_PROP(CameraProperty, NoTruncationIsOk, ()) {
    camera::Header header = some_camera_header(below<std::uint8_t>(2));
    const Bytes datagram = camera_fragment(header);
    for (std::size_t n = 0; n < datagram.size(); ++n) {
        const Bytes exact(datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(n));
        RC_ASSERT(camera_verdict(exact) != Verdict::ok);
    }
}

RC_GTEST_PROP(CameraProperty, NoChangedByteIsOkUnderAChecksum, ()) {
    camera::Header header = some_camera_header(camera::with_checksum);
    Bytes datagram = below<int>(4) == 0 ? camera_marker(header = some_camera_header(camera::end_of_run), {})
                                        : camera_fragment(header);
    RC_ASSERT(camera_verdict(datagram) == Verdict::ok);
    for (std::byte& byte : datagram) {
        const auto change = static_cast<std::byte>(1 + below<int>(255));
        byte ^= change;
        RC_ASSERT(camera_verdict(datagram) != Verdict::ok);
        byte ^= change;
    }
}

std::vector<tel62::Hit> some_tel62_hits(std::uint8_t board, std::uint32_t event_ticks) {
    std::vector<tel62::Hit> hits(below<std::size_t>(40));
    for (tel62::Hit& hit : hits) {
        const std::uint32_t ticks = event_ticks + below<std::uint32_t>(17) - 8;
        const auto channel = static_cast<std::uint16_t>(board * 512 + below<int>(512));
        hit = {(static_cast<std::uint64_t>(ticks) << 8) + below<std::uint64_t>(256), channel,
               below<int>(2) == 0 ? tel62::Edge::leading : tel62::Edge::trailing};
    }
    return hits;
}

struct MepEvent {
    std::uint32_t timestamp_ticks;
    bool last_of_burst;
    std::vector<tel62::Hit> hits;
};

/// Encodes the hits in place, which sorts them into the order in which they are read back.
Bytes mep_packet(std::vector<MepEvent>& events, std::uint8_t board, std::uint32_t first_event_number) {
    Bytes datagram(9000);
    mep::PacketWriter writer(datagram, mep::rich_source_id, board, first_event_number);
    for (MepEvent& event : events) {
        const std::size_t n_bytes = tel62::encode(writer.room(), {.board = board}, event.hits);
        RC_ASSERT(n_bytes > 0U);
        RC_ASSERT(writer.close(n_bytes, event.timestamp_ticks, event.last_of_burst));
    }
    datagram.resize(writer.finish());
    return datagram;
}

std::vector<MepEvent> some_mep_events(std::uint8_t board) {
    std::vector<MepEvent> events(1 + below<std::size_t>(12));
    for (MepEvent& event : events) {
        // Half of them at a 16-bit border, where frame times need their repair.
        event.timestamp_ticks = *rc::gen::arbitrary<std::uint32_t>();
        if (below<int>(2) == 0) event.timestamp_ticks = (event.timestamp_ticks & 0xffff0000) + below<std::uint32_t>(9);
        event.last_of_burst = below<int>(2) == 0;
        event.hits = some_tel62_hits(board, event.timestamp_ticks);
    }
    return events;
}

RC_GTEST_PROP(MepProperty, ReadsEveryHitItWrote, ()) {
    const auto board = below<std::uint8_t>(5);
    auto events = some_mep_events(board);
    const auto first_event_number = below<std::uint32_t>(1 << 24);
    const Bytes datagram = mep_packet(events, board, first_event_number);
    mep::PacketView packet;
    RC_ASSERT(mep::parse(datagram, KnownSources(mep::rich_source_id, 5), packet) == Verdict::ok);
    mep::FragmentReader reader(packet);
    mep::FragmentView fragment{};
    std::vector<tel62::Hit> hits(64);
    tel62::Decoded decoded;
    std::uint32_t event_number = first_event_number;
    for (const MepEvent& event : events) {
        RC_ASSERT(reader.next(fragment));
        RC_ASSERT(fragment.event_number == (event_number++ & mep::event_number_mask));
        RC_ASSERT(fragment.timestamp_ticks == event.timestamp_ticks && fragment.last_of_burst == event.last_of_burst);
        const Bytes exact(fragment.payload.begin(), fragment.payload.end());
        RC_ASSERT(tel62::decode(exact, board, fragment.timestamp_ticks, tel62::Edges::both, hits, decoded) ==
                  Verdict::ok);
        RC_ASSERT(std::equal(event.hits.begin(), event.hits.end(), hits.begin(), hits.begin() + decoded.n_hits));
    }
    RC_ASSERT(!reader.next(fragment));
}

RC_GTEST_PROP(MepProperty, NoTruncationIsOk, ()) {
    auto events = some_mep_events(1);
    const Bytes datagram = mep_packet(events, 1, 5);
    const KnownSources known(mep::rich_source_id, 5);
    for (std::size_t n = 0; n < datagram.size(); ++n) {
        Bytes exact(datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(n));
        mep::PacketView packet;
        RC_ASSERT(mep::parse(exact, known, packet) != Verdict::ok);
        if (n < mep::header_bytes) continue;
        store_le(exact.data() + 4, static_cast<std::uint16_t>(n));  // a length field that hides the cut
        RC_ASSERT(mep::parse(exact, known, packet) != Verdict::ok);
    }
}

RC_GTEST_PROP(MtpProperty, ReadsEveryPrimitiveItWrote, ()) {
    const auto frame = below<std::uint32_t>(1 << 24);
    std::vector<mtp::Primitive> primitives(below<std::size_t>(256));
    for (mtp::Primitive& primitive : primitives)
        primitive = {static_cast<std::uint16_t>(0x100 + below<int>(0xff00)), below<std::uint8_t>(256),
                     frame * mtp::frame_ticks + below<std::uint32_t>(256)};
    std::stable_sort(primitives.begin(), primitives.end(), [](const mtp::Primitive& a, const mtp::Primitive& b) {
        return std::pair(a.timestamp_ticks, a.fine_time) < std::pair(b.timestamp_ticks, b.fine_time);
    });
    Bytes datagram(mtp::full_packet_bytes);
    mtp::PacketWriter writer(datagram, 0x1c, 0);
    writer.begin(frame);
    for (const mtp::Primitive& primitive : primitives) RC_ASSERT(writer.add(primitive) == mtp::AddResult::ok);
    datagram.resize(writer.finish());
    const KnownSources known(0x1c, 1);
    mtp::PacketView packet;
    RC_ASSERT(mtp::parse(datagram, known, packet) == Verdict::ok);
    mtp::PrimitiveReader reader(packet);
    mtp::Primitive read{};
    for (const mtp::Primitive& primitive : primitives) RC_ASSERT(reader.next(read) && read == primitive);
    RC_ASSERT(!reader.next(read));
    for (std::size_t n = 0; n < datagram.size(); ++n)
        RC_ASSERT(mtp::parse(std::span(datagram).first(n), known, packet) != Verdict::ok);
}

RC_GTEST_PROP(ClbProperty, ReadsEveryHitItWrote, ()) {
    std::vector<clb::Hit> hits(below<std::size_t>(240));
    for (clb::Hit& hit : hits)
        hit = {below<std::uint8_t>(31), *rc::gen::arbitrary<std::uint32_t>(), *rc::gen::arbitrary<std::uint8_t>()};
    const clb::Header header{.run_number = *rc::gen::arbitrary<std::uint32_t>(),
                             .udp_sequence = *rc::gen::arbitrary<std::uint32_t>(),
                             .utc_s = *rc::gen::arbitrary<std::uint32_t>(),
                             .dom_id = *rc::gen::arbitrary<std::uint32_t>()};
    Bytes datagram(clb::header_bytes + hits.size() * clb::hit_bytes);
    RC_ASSERT(clb::write(datagram, header, hits) == datagram.size());
    clb::PacketView packet;
    RC_ASSERT(clb::parse(datagram, {}, packet) == Verdict::ok);
    RC_ASSERT(packet.header == header);
    std::vector<clb::Hit> read(packet.n_hits());
    clb::unpack(packet, read.data());
    RC_ASSERT(read == hits);
    // Without a length field only a cut inside a hit shows.
    for (std::size_t n = 0; n < datagram.size(); ++n) {
        const bool whole_hits = n >= clb::header_bytes && (n - clb::header_bytes) % clb::hit_bytes == 0;
        RC_ASSERT((clb::parse(std::span(datagram).first(n), {}, packet) == Verdict::ok) == whole_hits);
    }
}

/// Random bytes behind a right beginning, so that they get past the first check.
RC_GTEST_PROP(AnyFormat, RandomBytesAreOnlyAVerdict, ()) {
    Bytes datagram(below<std::size_t>(200));
    for (std::byte& byte : datagram) byte = std::byte{*rc::gen::arbitrary<std::uint8_t>()};
    if (datagram.size() >= 8) {
        if (below<int>(2) == 0) store_le(datagram.data(), mgp::magic);
        datagram[4] = std::byte{mgp::version};
        datagram[5] &= std::byte{1};
        store_le(datagram.data() + 6, static_cast<std::uint16_t>(datagram.size()));
    }
    if (datagram.size() >= 24) store_le(datagram.data() + 20, std::uint32_t{0});
    RC_ASSERT(mgp_verdict(datagram) < Verdict::count);
    std::vector<tel62::Hit> hits(30);
    tel62::Decoded decoded;
    RC_ASSERT(tel62::decode(datagram, datagram.size() > 2 ? static_cast<std::uint8_t>(datagram[2]) : 0, 77,
                            tel62::Edges::both, hits, decoded) < Verdict::count);
    mep::PacketView mep_view;
    KnownSources known;
    for (int source = 0; source < 256; ++source) known.expect(static_cast<std::uint8_t>(source), 256);
    RC_ASSERT(mep::parse(datagram, known, mep_view) < Verdict::count);
    mtp::PacketView mtp_view;
    RC_ASSERT(mtp::parse(datagram, known, mtp_view) < Verdict::count);
    clb::PacketView clb_view;
    RC_ASSERT(clb::parse(datagram, {}, clb_view) < Verdict::count);
    if (datagram.size() >= 4) store_le(datagram.data(), camera::magic);
    if (datagram.size() >= camera::header_bytes)
        store_le(datagram.data() + 38, static_cast<std::uint16_t>(datagram.size() - camera::header_bytes));
    RC_ASSERT(camera_verdict(datagram) < Verdict::count);
}

}  // namespace
}  // namespace anello::wire

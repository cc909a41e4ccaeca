// SPDX-License-Identifier: Apache-2.0
// Both directions for each file in tests/vectors: its bytes read as its content says, and writing the same content
// gives the same bytes. ANELLO_WRITE_VECTORS=FOLDER writes the files anew, for a change of format.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "camera/wire/camera.hpp"
#include "rich/wire/mep.hpp"
#include "rich/wire/mtp.hpp"
#include "rich/wire/tel62.hpp"
#include "vector_file.hpp"
#include "wire/bytes.hpp"
#include "wire/mfp.hpp"
#include "wire/mgp.hpp"

namespace anello::wire {
namespace {

using Bytes = std::vector<std::byte>;
using Lines = std::vector<std::string>;

void describe_mgp_event(const mgp::EventView& event, bool with_time, Lines& lines) {
    std::array<std::uint16_t, 255> channel;
    std::array<std::int16_t, 255> time;
    with_time ? mgp::unpack_timed_hits(event.hits, event.n_hits, channel.data(), time.data())
              : mgp::unpack_channels(event.hits, event.n_hits, channel.data());
    auto line = fmt::format("event timestamp_ticks={} fine_time={} hits=", event.timestamp_ticks, event.fine_time);
    for (std::size_t i = 0; i < event.n_hits; ++i) {
        line += fmt::format("{}{}", i == 0 ? "" : ",", channel[i]);
        if (with_time) line += fmt::format(":{:+}", time[i]);
    }
    lines.push_back(line);
}

Lines describe_mgp(const Bytes& datagram) {
    mgp::PacketView packet;
    const Verdict verdict = mgp::parse(datagram, packet);
    if (verdict != Verdict::ok) return {name_of(verdict)};
    const mgp::Header& h = packet.header;
    Lines lines{fmt::format(
        "mgp flags={} length_bytes={} source_id={} n_events={} sequence={} burst_id={} "
        "checksum={:#010x} send_time_ns={}",
        h.flags, h.length_bytes, h.source_id, h.n_events, h.sequence, h.burst_id, h.checksum, h.send_time_ns)};
    if (h.is_burst_marker()) {
        const mgp::Totals t = mgp::parse_totals(packet);
        lines.push_back(fmt::format("totals n_packets={} n_events={} n_hits={} n_bytes={}", t.n_packets, t.n_events,
                                    t.n_hits, t.n_bytes));
    }
    mgp::EventReader reader(packet);
    for (mgp::EventView event{}; reader.next(event);) describe_mgp_event(event, h.has_hit_times(), lines);
    if (reader.verdict() != Verdict::ok) lines.push_back(name_of(reader.verdict()));
    return lines;
}

std::string describe_fragment(const mep::FragmentView& fragment, std::uint8_t board) {
    std::array<tel62::Hit, 64> hits;
    tel62::Decoded decoded;
    const auto verdict =
        tel62::decode(fragment.payload, board, fragment.timestamp_ticks, tel62::Edges::both, hits, decoded);
    auto line =
        fmt::format("fragment event_number={} timestamp_ticks={} last_of_burst={:d} trigger_type={:#04x} hits=",
                    fragment.event_number, fragment.timestamp_ticks, fragment.last_of_burst, decoded.trigger_type);
    if (verdict != Verdict::ok) return line + name_of(verdict);
    for (std::size_t i = 0; i < decoded.n_hits; ++i)
        line += fmt::format("{}{}:{}:{}", i == 0 ? "" : ",", hits[i].readout_channel, hits[i].time_fine,
                            hits[i].edge == tel62::Edge::leading ? "leading" : "trailing");
    return line;
}

Lines describe_mep(const Bytes& datagram) {
    mep::PacketView packet;
    const Verdict verdict = mep::parse(datagram, KnownSources(mep::rich_source_id, 5), packet);
    if (verdict != Verdict::ok) return {name_of(verdict)};
    const mep::Header& h = packet.header;
    Lines lines{
        fmt::format("mep first_event_number={} source_id={:#04x} length_bytes={} n_fragments={} "
                    "sub_source_id={}",
                    h.first_event_number, h.source_id, h.length_bytes, h.n_fragments, h.sub_source_id)};
    mep::FragmentReader reader(packet);
    for (mep::FragmentView fragment{}; reader.next(fragment);)
        lines.push_back(describe_fragment(fragment, h.sub_source_id));
    return lines;
}

Lines describe_mtp(const Bytes& datagram) {
    mtp::PacketView packet;
    const Verdict verdict = mtp::parse(datagram, KnownSources(mep::rich_source_id, 1), packet);
    if (verdict != Verdict::ok) return {name_of(verdict)};
    const mtp::Header& h = packet.header;
    Lines lines{fmt::format("mtp source_id={:#04x} sub_source_id={} frame={} n_primitives={} length_bytes={}",
                            h.source_id, h.sub_source_id, h.frame, h.n_primitives, h.length_bytes)};
    mtp::PrimitiveReader reader(packet);
    for (mtp::Primitive p{}; reader.next(p);)
        lines.push_back(
            fmt::format("primitive id={:#06x} timestamp_ticks={} fine_time={}", p.id, p.timestamp_ticks, p.fine_time));
    return lines;
}

std::string describe_camera_payload(std::span<const std::byte> payload, const camera::Header& h) {
    if (h.n_samples == 0) {
        std::string line = "bytes ";
        for (const std::byte byte : payload) line += fmt::format("{:02x}", static_cast<unsigned>(byte));
        return line;
    }
    std::string line = "samples ";
    for (std::size_t i = 0; i < payload.size(); i += 2)
        line += fmt::format("{}{}", i == 0 ? "" : ",", load_le<std::uint16_t>(payload.data() + i));
    return line;
}

Lines describe_camera(const Bytes& datagram) {
    camera::Header h;
    if (const Verdict verdict = camera::parse(datagram, h); verdict != Verdict::ok) return {name_of(verdict)};
    if (const Verdict verdict = camera::verify(datagram, h); verdict != Verdict::ok) return {name_of(verdict)};
    std::string counters;
    for (const std::byte byte : h.counters) counters += fmt::format("{:02x}", static_cast<unsigned>(byte));
    Lines lines{
        fmt::format("camera flags={} board={} run_id={} event_number={} sequence={} checksum={:#010x} "
                    "timestamp_ns={} n_samples={} n_pixels={} n_gains={} counters_kind={} trigger_tag={} "
                    "payload_bytes={}",
                    h.flags, h.board, h.run_id, h.event_number, h.sequence, h.checksum, h.timestamp_ns, h.n_samples,
                    h.n_pixels, h.n_gains, static_cast<int>(h.counters_kind), h.trigger_tag, h.payload_bytes),
        "counters " + counters};
    if (h.is_marker()) {
        const camera::Totals t = camera::parse_totals(datagram);
        lines.push_back(fmt::format("totals n_fragments={} n_bytes={} first_event={} next_event={}", t.n_fragments,
                                    t.n_bytes, t.first_event, t.next_event));
    } else {
        const auto payload = std::span(datagram).subspan(camera::header_bytes);
        lines.push_back(describe_camera_payload(payload.first(h.waveform_bytes()), h));
        if (h.has_first_cells())
            lines.push_back(fmt::format("first_cells {}", fmt::join(camera::read_first_cells(payload), ",")));
    }
    return lines;
}

camera::Header camera_header(std::uint8_t flags, camera::CountersKind kind, std::size_t n_counter_bytes) {
    camera::Header header{.flags = flags,
                          .board = 264,
                          .run_id = 0x01020304,
                          .event_number = 0xfffffffe,
                          .sequence = 0x89abcdef,
                          .timestamp_ns = 1'700'000'000'123'456'789,
                          .counters_kind = kind};
    for (std::size_t i = 0; i < n_counter_bytes; ++i) header.counters[i] = static_cast<std::byte>(0xa0 + i);
    return header;
}

Bytes build_camera_waveforms() {
    camera::Header header = camera_header(camera::with_checksum, camera::CountersKind::nectarcam_16, 16);
    header.n_samples = 4;
    header.n_pixels = 3;
    header.n_gains = 2;
    header.payload_bytes = 48;
    Bytes datagram(camera::header_bytes + header.payload_bytes);
    for (std::uint16_t i = 0; i < 24; ++i)
        store_le(datagram.data() + camera::header_bytes + 2 * i, static_cast<std::uint16_t>(250 + 160 * i));
    camera::seal(datagram, header);
    return datagram;
}

Bytes build_camera_bytes() {
    camera::Header header = camera_header(0, camera::CountersKind::dragon, 22);
    header.payload_bytes = 5;
    Bytes datagram(camera::header_bytes + header.payload_bytes, std::byte{0xff});
    camera::seal(datagram, header);
    return datagram;
}

Bytes with_cells(camera::Header header) {
    const auto n_values = static_cast<std::uint16_t>(header.n_gains * header.n_pixels * header.n_samples);
    header.payload_bytes = static_cast<std::uint16_t>(2 * n_values + camera::first_cells_bytes);
    Bytes datagram(camera::header_bytes + header.payload_bytes);
    for (std::uint16_t i = 0; i < n_values; ++i)
        store_le(datagram.data() + camera::header_bytes + 2 * i, static_cast<std::uint16_t>(400 + 90 * i));
    camera::write_first_cells(datagram, {0, 4095, 1023, 1024, 2047, 2048, 3071, 3072});
    camera::seal(datagram, header);
    return datagram;
}

Bytes build_camera_first_cells() {
    camera::Header header = camera_header(camera::with_checksum, camera::CountersKind::dragon_drs4, 22);
    header.trigger_tag = camera::tag_mono | camera::tag_pedestal;
    header.n_samples = 3;
    header.n_pixels = 7;
    header.n_gains = 2;
    return with_cells(header);
}

Bytes build_camera_gain_selected() {
    camera::Header header =
        camera_header(camera::with_checksum | camera::gain_selected, camera::CountersKind::dragon_drs4, 22);
    header.trigger_tag = camera::tag_mono;
    header.n_samples = 3;
    header.n_pixels = 7;
    header.n_gains = 1;
    store_le(header.counters.data() + 22, std::uint16_t{0b1000010});
    return with_cells(header);
}

Bytes build_camera_marker(std::uint8_t flag, const camera::Totals& totals) {
    Bytes datagram(camera::header_bytes + camera::totals_bytes);
    camera::write_marker(datagram, camera_header(flag, camera::CountersKind::none, 0), totals);
    return datagram;
}

Lines describe_mfp(const Bytes& packet) {
    mfp::PacketView view;
    if (const Verdict verdict = mfp::parse(packet, view); verdict != Verdict::ok) return {name_of(verdict)};
    const mfp::Header& h = view.header;
    Lines lines{
        fmt::format("mfp flags={} alignment_log2={} source_id={} n_fragments={} run_id={} length_bytes={} "
                    "checksum={:#010x} first_event={} ready_ns={}",
                    h.flags, h.alignment_log2, h.source_id, h.n_fragments, h.run_id, h.length_bytes, h.checksum,
                    h.first_event, h.ready_ns)};
    mfp::FragmentReader reader(view);
    std::size_t i = 0;
    for (std::span<const std::byte> fragment; reader.next(fragment); ++i) {
        std::string line =
            fmt::format("fragment checksum={:#010x} verdict={} bytes=", view.checksum_of(i), name_of(reader.verify()));
        for (const std::byte byte : fragment) line += fmt::format("{:02x}", static_cast<unsigned>(byte));
        lines.push_back(line);
    }
    return lines;
}

Bytes build_mfp(std::uint8_t flags, std::uint8_t alignment_log2) {
    Bytes packet(1000);
    mfp::Writer writer(packet, {.flags = flags,
                                .alignment_log2 = alignment_log2,
                                .source_id = 513,
                                .n_fragments = 3,
                                .run_id = 0x01020304,
                                .first_event = 0x1122334455667788,
                                .ready_ns = 1'700'000'000'123'456'789});
    std::uint8_t value = 0xa0;
    for (const std::uint16_t size : {std::uint16_t{9}, std::uint16_t{0}, std::uint16_t{4}})
        for (std::byte& byte : writer.add(size)) byte = std::byte{value++};
    packet.resize(writer.finish());
    return packet;
}

Bytes build_mgp(std::uint8_t flags) {
    using Hits = std::vector<mgp::Hit>;
    const bool with_time = (flags & mgp::hits_with_time) != 0;
    Bytes datagram(1472);
    std::size_t n_bytes = 0;
    const auto add = [&](std::uint32_t ticks, std::uint8_t fine_time, const Hits& hits) {
        const auto room = std::span(datagram).subspan(mgp::header_bytes + n_bytes);
        n_bytes += mgp::write_event(room, ticks, fine_time, hits, with_time);
    };
    add(0x01020304, 200, {{1, 0}, {2, 4}, {256, -4}, {511, 252}, {0, -256}});
    add(0x01020310, 0, {});
    add(0xfffffff0, 255, {{487, 8}, {486, -8}, {485, 12}, {484, 0}, {483, 0}, {482, 0}, {481, 0}, {480, 100}, {7, 4}});
    const mgp::Header header{.flags = flags,
                             .source_id = 3,
                             .n_events = 3,
                             .sequence = 0x89abcdef,
                             .burst_id = 42,
                             .send_time_ns = 1'700'000'000'123'456'789};
    datagram.resize(mgp::seal(datagram, header, n_bytes));
    return datagram;
}

Bytes build_mgp_marker(std::uint8_t flags, const mgp::Totals& totals) {
    Bytes datagram(mgp::header_bytes + mgp::totals_bytes);
    const mgp::Header header{.flags = flags,
                             .source_id = 1,
                             .sequence = static_cast<std::uint32_t>(totals.n_packets),
                             .burst_id = 7,
                             .send_time_ns = 1};
    mgp::write_burst_marker(datagram, header, totals);
    return datagram;
}

Bytes build_mep() {
    using enum tel62::Edge;
    constexpr std::uint64_t tick = 256;
    std::vector<tel62::Hit> first{{0x1fffe * tick + 17, 2 * 512 + 5, leading},
                                  {0x1fffe * tick + 180, 2 * 512 + 5, trailing},
                                  {0x20001 * tick + 3, 2 * 512 + 487, leading},
                                  {0x1fffe * tick, 2 * 512 + 127, leading}};
    std::vector<tel62::Hit> none;
    Bytes datagram(1472);
    mep::PacketWriter writer(datagram, mep::rich_source_id, 2, 0xffffff);
    const auto add = [&](std::vector<tel62::Hit>& hits, std::uint8_t trigger_type, std::uint32_t ticks, bool last) {
        const std::size_t n_bytes = tel62::encode(writer.room(), {.board = 2, .trigger_type = trigger_type}, hits);
        EXPECT_TRUE(writer.close(n_bytes, ticks, last));
    };
    add(first, 0x01, 0x1ffff, false);
    add(none, 0x01, 0x20100, false);
    add(none, 0xa3, 0x30000, true);
    datagram.resize(writer.finish());
    return datagram;
}

Bytes build_mtp(std::uint32_t frame, const std::vector<mtp::Primitive>& primitives) {
    Bytes datagram(mtp::full_packet_bytes);
    mtp::PacketWriter writer(datagram, mep::rich_source_id, 0);
    writer.begin(frame);
    for (const mtp::Primitive& primitive : primitives) EXPECT_EQ(writer.add(primitive), mtp::AddResult::ok);
    datagram.resize(writer.finish());
    return datagram;
}

void check(const std::string& name, const std::string& title, const Bytes& written, Lines (*describe)(const Bytes&)) {
    if (const char* folder = std::getenv("ANELLO_WRITE_VECTORS"))
        VectorFile{written, describe(written)}.write(std::string(folder) + "/" + name, title);
    const VectorFile expected = VectorFile::read(name);
    EXPECT_EQ(describe(expected.bytes), expected.content) << "reading " << name;
    EXPECT_EQ(written, expected.bytes) << "writing " << name;
}

TEST(Vectors, MgpNineBitHits) {
    check("mgp_9bit.hex", "MGP, 9-bit hits, no checksum: three events, the second without hits.", build_mgp(0),
          describe_mgp);
}

TEST(Vectors, MgpSixteenBitHitsWithChecksum) {
    check("mgp_16bit_checksum.hex", "MGP, 16-bit hits with times, checksum: the events of mgp_9bit.hex.",
          build_mgp(mgp::hits_with_time | mgp::with_checksum), describe_mgp);
}

TEST(Vectors, MgpNineBitHitsWithChecksum) {
    check("mgp_9bit_checksum.hex", "MGP, 9-bit hits, checksum: the events of mgp_9bit.hex.",
          build_mgp(mgp::with_checksum), describe_mgp);
}

TEST(Vectors, MgpStartOfBurst) {
    check("mgp_start_of_burst.hex", "MGP, start of the first burst: nothing sent yet.",
          build_mgp_marker(mgp::start_of_burst, {}), describe_mgp);
}

TEST(Vectors, MgpEndOfBurst) {
    check("mgp_end_of_burst.hex", "MGP, end of burst with totals beyond 32 bits, checksum.",
          build_mgp_marker(mgp::end_of_burst | mgp::with_checksum,
                           {.n_packets = 1000, .n_events = 64000, .n_hits = 320000, .n_bytes = 5'000'000'000}),
          describe_mgp);
}

TEST(Vectors, MepWithTel62) {
    check("mep_tel62.hex", "MEP of RICH board 2 with TEL62 payload: hits across a 16-bit border, none, end of burst.",
          build_mep(), describe_mep);
}

TEST(Vectors, CameraWaveforms) {
    check("camera_waveforms.hex", "Camera fragment of 3 pixels, 2 gains, 4 samples, NectarCAM's counters, checksum.",
          build_camera_waveforms(), describe_camera);
}

TEST(Vectors, CameraBytes) {
    check("camera_bytes.hex", "Camera fragment of 5 bytes without shape, the LST's counters, no checksum.",
          build_camera_bytes(), describe_camera);
}

TEST(Vectors, CameraFirstCells) {
    check("camera_first_cells.hex",
          "Camera fragment of 7 pixels, 2 gains, 3 samples, the LST's counters and first cells, a pedestal.",
          build_camera_first_cells(), describe_camera);
}

TEST(Vectors, CameraGainSelected) {
    check("camera_gain_selected.hex",
          "Camera fragment of 7 pixels, 3 samples of one of two gains each: of the second and the last pixel the low "
          "one.",
          build_camera_gain_selected(), describe_camera);
}

TEST(Vectors, CameraStartOfRun) {
    check("camera_start_of_run.hex", "Camera, start of run: nothing sent yet.",
          build_camera_marker(camera::start_of_run, {.first_event = 0xffffff00, .next_event = 0xffffff00}),
          describe_camera);
}

TEST(Vectors, CameraEndOfRun) {
    check("camera_end_of_run.hex", "Camera, end of run with totals beyond 32 bits, event numbers across the wrap.",
          build_camera_marker(camera::end_of_run, {.n_fragments = 5'000'000'000,
                                                   .n_bytes = 8'720'000'000'000,
                                                   .first_event = 0xffffff00,
                                                   .next_event = 0x2a05f100}),
          describe_camera);
}

TEST(Vectors, Mfp) {
    check("mfp_three.hex", "MFP of three fragments, the second empty, aligned to 8 bytes.", build_mfp(0, 3),
          describe_mfp);
}

TEST(Vectors, MfpWithoutChecksums) {
    check("mfp_without_checksums.hex", "MFP: the fragments of mfp_three.hex, not aligned, without checksums.",
          build_mfp(mfp::without_checksums, 0), describe_mfp);
}

TEST(Vectors, MfpWithLongFragments) {
    check("mfp_long.hex", "MFP: the fragments of mfp_three.hex, aligned to 64 bytes, with sizes of 32 bits.",
          build_mfp(mfp::long_fragments, 6), describe_mfp);
}

TEST(Vectors, MtpWithPrimitives) {
    check("mtp_primitives.hex", "MTP with three primitives in frame 0x123456.",
          build_mtp(0x123456, {{0x4001, 0, 0x12345600}, {0x4002, 128, 0x12345600}, {0xc0ff, 255, 0x123456ff}}),
          describe_mtp);
}

TEST(Vectors, MtpEmpty) {
    check("mtp_empty.hex", "MTP of a frame without primitives.", build_mtp(0x123457, {}), describe_mtp);
}

}  // namespace
}  // namespace anello::wire

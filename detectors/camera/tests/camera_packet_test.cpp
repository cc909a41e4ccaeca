// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "camera/wire/camera.hpp"
#include "wire/bytes.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::wire::camera {
namespace {

using Bytes = std::vector<std::byte>;

Header header_of(std::uint8_t flags) {
    Header header{.flags = flags,
                  .board = 264,
                  .run_id = 7,
                  .event_number = 0xfffffffe,
                  .sequence = 12,
                  .timestamp_ns = 1'700'000'000'123'456'789,
                  .n_samples = 40,
                  .n_pixels = 7,
                  .n_gains = 2,
                  .counters_kind = CountersKind::nectarcam_20,
                  .trigger_tag = tag_stereo,
                  .payload_bytes = 1120};
    for (std::size_t i = 0; i < counters_bytes; ++i) header.counters[i] = static_cast<std::byte>(i + 1);
    return header;
}

Bytes fragment_of(const Header& header) {
    Bytes datagram(header_bytes + header.payload_bytes);
    for (std::size_t i = header_bytes; i < datagram.size(); ++i) datagram[i] = static_cast<std::byte>(i * 31);
    EXPECT_EQ(seal(datagram, header), datagram.size());
    return datagram;
}

Bytes marker_of(std::uint8_t flags) {
    Bytes datagram(header_bytes + totals_bytes);
    const Totals totals{.n_fragments = 1, .n_bytes = 2, .first_event = 3, .next_event = 4};
    EXPECT_EQ(write_marker(datagram, header_of(flags), totals), datagram.size());
    return datagram;
}

Header drs4_header(std::uint8_t flags) {
    Header header = header_of(flags);
    header.counters_kind = CountersKind::dragon_drs4;
    header.payload_bytes = 1120 + first_cells_bytes;
    return header;
}

Bytes drs4_fragment(const Header& header, const FirstCells& cells) {
    Bytes datagram = fragment_of(header);
    write_first_cells(datagram, cells);
    seal(datagram, header);
    return datagram;
}

Verdict verdict_of(std::span<const std::byte> datagram) {
    Header header;
    return parse(datagram, header);
}

TEST(CameraPacket, ReadsTheHeaderItWrote) {
    for (const std::uint8_t flags : {std::uint8_t{0}, std::uint8_t{with_checksum}}) {
        const Bytes datagram = fragment_of(header_of(flags));
        Header header;
        ASSERT_EQ(parse(datagram, header), Verdict::ok);
        EXPECT_EQ(verify(datagram, header), Verdict::ok);
        EXPECT_EQ(header.checksum != 0, flags == with_checksum);
        header.checksum = 0;
        EXPECT_EQ(header, header_of(flags));
        EXPECT_FALSE(header.is_marker());
    }
}

TEST(CameraPacket, AHeaderAloneIsAFragment) {
    Header header = header_of(0);
    header.n_samples = 0;
    header.payload_bytes = 0;
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::ok);
    header.payload_bytes = max_payload_bytes;
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::ok) << "bytes without shape";
}

TEST(CameraPacket, MarkersCarryTotalsAndAlwaysAChecksum) {
    const Bytes datagram = marker_of(end_of_run);
    Header header;
    ASSERT_EQ(parse(datagram, header), Verdict::ok);
    EXPECT_EQ(verify(datagram, header), Verdict::ok);
    EXPECT_TRUE(header.is_marker());
    EXPECT_EQ(header.flags, end_of_run | with_checksum);
    EXPECT_EQ(header.n_samples, 0);
    EXPECT_EQ(parse_totals(datagram), (Totals{.n_fragments = 1, .n_bytes = 2, .first_event = 3, .next_event = 4}));
}

TEST(CameraPacket, FirstCellsFollowTheWaveforms) {
    const FirstCells cells{0, 1, 1023, 1024, 2048, 4000, 4094, 4095};
    const Bytes datagram = drs4_fragment(drs4_header(with_checksum), cells);
    Header header;
    ASSERT_EQ(parse(datagram, header), Verdict::ok);
    EXPECT_EQ(verify(datagram, header), Verdict::ok);
    EXPECT_EQ(header.waveform_bytes(), 1120U);
    EXPECT_EQ(read_first_cells(datagram), cells);
    EXPECT_EQ(load_le<std::uint16_t>(datagram.data() + header_bytes + 1120 + 2 * 5), 4000) << "chip 5";
    EXPECT_EQ(header_of(0).waveform_bytes(), 1120U) << "the others have none";
}

TEST(CameraPacket, AChipSamplesTwoPixelsAndTheLastOne) {
    constexpr std::size_t of_high[]{0, 0, 1, 1, 2, 2, 3}, of_low[]{4, 4, 5, 5, 6, 6, 7};
    for (std::size_t pixel = 0; pixel < drs4_pixels; ++pixel) {
        EXPECT_EQ(drs4_chip(0, pixel), of_high[pixel]);
        EXPECT_EQ(drs4_chip(1, pixel), of_low[pixel]);
    }
}

TEST(CameraPacket, AMarkerOfSuchABoardHasTotalsAndNoTag) {
    Bytes datagram(header_bytes + totals_bytes);
    ASSERT_EQ(write_marker(datagram, drs4_header(end_of_run), {.n_fragments = 1}), datagram.size());
    Header header;
    ASSERT_EQ(parse(datagram, header), Verdict::ok);
    EXPECT_EQ(header.trigger_tag, 0);
    EXPECT_FALSE(header.has_first_cells());
    EXPECT_EQ(parse_totals(datagram).n_fragments, 1U);
}

TEST(CameraPacket, SealsAPayloadWhoseChecksumIsKnown) {
    const Header header = header_of(with_checksum);
    const Bytes whole = fragment_of(header);
    Bytes datagram(whole);
    std::fill_n(datagram.begin(), header_bytes, std::byte{0});
    const Crc32cJoin join(header.payload_bytes);
    const std::uint32_t payload_crc = crc32c(std::span(datagram).subspan(header_bytes));
    EXPECT_EQ(seal(datagram, header, payload_crc, join), whole.size());
    EXPECT_EQ(datagram, whole);
}

TEST(CameraPacket, PatternIsWhatItsPageSays) {
    for (const std::size_t n_bytes : {0, 1, 8, 63, 64, 65, 1680, 8908}) {
        Bytes payload(n_bytes);
        write_pattern(payload, 264, 0xfffffffe);
        std::uint64_t word = pattern_start(264, 0xfffffffe);
        for (std::size_t i = 0; i < n_bytes; ++i) {
            ASSERT_EQ(static_cast<std::uint8_t>(payload[i]), static_cast<std::uint8_t>(word >> 8 * (i % 8)));
            if (i % 8 == 7) word += pattern_step;
        }
        EXPECT_TRUE(has_pattern(payload, 264, 0xfffffffe));
    }
    EXPECT_EQ(pattern_start(1, 2), 0xf2c6924e7dfed23eU);
}

TEST(CameraPacket, PatternSeesAnyChangedByteOtherBoardOrEvent) {
    Bytes payload(171);
    write_pattern(payload, 3, 77);
    for (std::byte& byte : payload) {
        byte ^= std::byte{0x10};
        EXPECT_FALSE(has_pattern(payload, 3, 77));
        byte ^= std::byte{0x10};
    }
    EXPECT_TRUE(has_pattern(payload, 3, 77));
    EXPECT_FALSE(has_pattern(payload, 4, 77));
    EXPECT_FALSE(has_pattern(payload, 3, 78));
}

TEST(CameraPacket, PortsAreContiguousRangesOfBoards) {
    EXPECT_EQ(port_index(0, 265, 1), 0U);
    EXPECT_EQ(port_index(264, 265, 1), 0U);
    for (std::uint32_t board = 0; board < 265; ++board) EXPECT_EQ(port_index(board, 265, 265), board);
    std::vector<std::uint32_t> n_boards(64);
    for (std::uint32_t board = 0; board < 265; ++board) ++n_boards[port_index(board, 265, 64)];
    for (const std::uint32_t n : n_boards) EXPECT_TRUE(n == 4 || n == 5) << n;
}

TEST(CameraVerdict, TooShort) {
    const Bytes datagram = fragment_of(header_of(0));
    EXPECT_EQ(verdict_of({}), Verdict::too_short);
    EXPECT_EQ(verdict_of(std::span(datagram).first(header_bytes - 1)), Verdict::too_short);
}

TEST(CameraVerdict, WrongMagic) {
    Bytes datagram = fragment_of(header_of(0));
    datagram[3] ^= std::byte{1};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_magic);
}

TEST(CameraVerdict, WrongVersion) {
    Bytes datagram = fragment_of(header_of(0));
    datagram[4] = std::byte{2};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_version);
    datagram = fragment_of(header_of(0));
    datagram[36] = static_cast<std::byte>(CountersKind::count);
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_version) << "counters of a kind not known";
}

TEST(CameraVerdict, WrongFlags) {
    Bytes datagram = fragment_of(header_of(0));
    datagram[5] = std::byte{8};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_flags) << "a reserved flag";
    datagram[5] = std::byte{0};
    datagram[37] = std::byte{128};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_flags) << "the tag's reserved bit";
    datagram[37] = std::byte{127};
    EXPECT_EQ(verdict_of(datagram), Verdict::ok) << "all that a tag can say";
    EXPECT_EQ(verdict_of(marker_of(start_of_run | end_of_run)), Verdict::wrong_flags);
    datagram = marker_of(start_of_run);
    datagram[5] = std::byte{start_of_run};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_flags) << "a marker without a checksum";
    datagram = marker_of(start_of_run);
    datagram[37] = std::byte{tag_mono};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_flags) << "a marker with a tag";
}

Header selected_header(std::uint16_t low_gain) {
    Header header = header_of(gain_selected);
    header.n_gains = 1;
    header.payload_bytes = 560;
    store_le(header.counters.data() + 22, low_gain);
    return header;
}

TEST(CameraPacket, OneOfTwoGainsSaysOfWhichPixelsTheLowOne) {
    Header header;
    ASSERT_EQ(parse(fragment_of(selected_header(0b1000001)), header), Verdict::ok);
    EXPECT_EQ(header.low_gain(), 0b1000001);
    EXPECT_EQ(header.waveform_bytes(), 560U);
}

TEST(CameraVerdict, WrongFlagsOfAChosenGain) {
    EXPECT_EQ(verdict_of(fragment_of(selected_header(0x80))), Verdict::wrong_flags) << "a pixel that is not there";
    Header header = selected_header(0);
    header.n_gains = 2;
    header.payload_bytes = 1120;
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::wrong_flags) << "both gains";
    header = selected_header(0);
    header.n_samples = 0;
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::wrong_flags) << "no waveforms";
    header = selected_header(0);
    header.n_pixels = 17;
    header.payload_bytes = 2 * 17 * 40;
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::wrong_flags) << "more pixels than bits";
    EXPECT_EQ(verdict_of(marker_of(start_of_run | gain_selected)), Verdict::wrong_flags);
}

TEST(CameraVerdict, WrongFlagsOfFirstCells) {
    for (std::size_t chip = 0; chip < drs4_chips; ++chip) {
        FirstCells cells{};
        cells[chip] = drs4_cells;
        EXPECT_EQ(verdict_of(drs4_fragment(drs4_header(0), cells)), Verdict::wrong_flags) << chip;
    }
}

TEST(CameraVerdict, WrongLengthOfFirstCells) {
    Header header = drs4_header(0);
    header.payload_bytes = 1120;
    EXPECT_EQ(verdict_of(drs4_fragment(header, {})), Verdict::wrong_length) << "no room for them";
    header = header_of(0);
    header.payload_bytes = 1120 + first_cells_bytes;
    EXPECT_EQ(verdict_of(drs4_fragment(header, {})), Verdict::wrong_length) << "counters of another kind";
    header = drs4_header(0);
    header.n_pixels = 14;
    header.n_samples = 20;
    EXPECT_EQ(verdict_of(drs4_fragment(header, {})), Verdict::wrong_length) << "not 7 pixels";
    header.n_pixels = 7;
    header.n_samples = 0;
    EXPECT_EQ(verdict_of(drs4_fragment(header, {})), Verdict::wrong_length) << "no waveforms";
    header.payload_bytes = first_cells_bytes;
    EXPECT_EQ(verdict_of(drs4_fragment(header, {})), Verdict::wrong_length) << "first cells of nothing";
    header.payload_bytes = 8;
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::wrong_length) << "shorter than first cells";
}

TEST(CameraVerdict, WrongLengthBothWays) {
    Bytes datagram = fragment_of(header_of(0));
    EXPECT_EQ(verdict_of(std::span(datagram).first(datagram.size() - 1)), Verdict::wrong_length);
    datagram.push_back(std::byte{0});
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_length);
}

TEST(CameraVerdict, WrongLengthOfShape) {
    Header header = header_of(0);
    header.n_samples = 41;
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::wrong_length);
    // 2^15 samples of 2^14 pixels and gains, 2 bytes each, are 2^30 bytes; their lowest 16 bits are 0.
    header = {.n_samples = 0x8000, .n_pixels = 0x80, .n_gains = 0x80, .payload_bytes = 0};
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::wrong_length) << "a shape far beyond the field";
}

TEST(CameraVerdict, WrongLengthBeyondAJumboFrame) {
    Bytes datagram = fragment_of({.payload_bytes = max_payload_bytes + 1});
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_length);
}

TEST(CameraVerdict, WrongLengthOfMarker) {
    const Header header{.flags = start_of_run | with_checksum, .payload_bytes = totals_bytes + 8};
    EXPECT_EQ(verdict_of(fragment_of(header)), Verdict::wrong_length);
}

TEST(CameraVerdict, WrongChecksum) {
    Bytes datagram = fragment_of(header_of(with_checksum));
    datagram.back() ^= std::byte{1};
    Header header;
    ASSERT_EQ(parse(datagram, header), Verdict::ok) << "parse() leaves the checksum to verify()";
    EXPECT_EQ(verify(datagram, header), Verdict::wrong_checksum);
    datagram = fragment_of(header_of(with_checksum));
    datagram[5] = std::byte{0};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_checksum) << "a lost flag must not switch the check off";
}

}  // namespace
}  // namespace anello::wire::camera

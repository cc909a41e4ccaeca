// SPDX-License-Identifier: Apache-2.0
#include "camera/send/record.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "camera/events/builder/slot.hpp"
#include "camera/tests/camera_event.hpp"
#include "core/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace anello::camera::record_test {
namespace {

constexpr test::CameraLayout layout{.n_boards = 12, .boards_per_group = 5};

test::CameraEvent shower_event(std::uint32_t event_number = 42) {
    test::CameraEvent event(layout, event_number);
    source::Random random(9);
    test::fill_waveforms(event, random, 4, [](std::uint32_t p) { return p < 20 ? 12.0 : 0.0; });
    return event;
}

std::vector<std::byte> encode(const test::CameraEvent& event, const CompressionConfig& config) {
    CameraEncoder encoder(config, event.view().shape);
    std::vector<std::byte> record(encoder.max_record_bytes());
    record.resize(encoder.encode_event(event.view(), record).record.size());
    return record;
}

/// Sets the right checksum, so that the checks after it are reached.
void seal(std::vector<std::byte>& record) {
    const std::span<const std::byte> bytes(record);
    wire::store_le(record.data() + 60, wire::crc32c(bytes.subspan(64), wire::crc32c(bytes.first(60))));
}

void expect_same(const test::CameraEvent& event, const CameraRecord& record) {
    const CameraEventView& view = event.view();
    EXPECT_EQ(record.header.run_id, view.run_id);
    EXPECT_EQ(record.header.event_number, view.event_number);
    EXPECT_EQ(record.header.timestamp_ns, view.timestamp_ns);
    EXPECT_EQ(record.header.n_boards, view.shape.n_boards);
    EXPECT_EQ(record.present, view.present);
    std::size_t at = 0, place = 0;
    for (std::uint32_t board = 0; board < view.shape.n_boards; ++board) {
        if (!view.present.contains(board)) continue;
        EXPECT_EQ(std::memcmp(record.headers.data() + 64 * place, view.slot(board), 64), 0);
        EXPECT_EQ(std::memcmp(record.waveforms.data() + at, view.payload(board), layout.payload_bytes()), 0);
        at += layout.payload_bytes();
        ++place;
    }
    EXPECT_EQ(record.waveforms.size(), at);
    EXPECT_EQ(record.headers.size(), 64 * place);
}

class Records : public testing::TestWithParam<CompressionConfig> {};

TEST_P(Records, ComeBackAsTheyWere) {
    test::CameraEvent event = shower_event();
    event.remove(0);
    event.remove(7);
    const auto record = encode(event, GetParam());
    ASSERT_FALSE(record.empty());
    CameraDecoder decoder;
    CameraRecord decoded;
    ASSERT_EQ(decoder.decode(record, decoded), RecordVerdict::ok);
    expect_same(event, decoded);
    if (GetParam().level > 0) {
        constexpr std::size_t n_present = 10;
        EXPECT_LT(record.size(), n_present * layout.payload_bytes() * 12 / 16) << "samples are of 12 bits in 16";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Records,
    testing::Values(CompressionConfig{0, Shuffle::none, false}, CompressionConfig{0, Shuffle::bit, true},
                    CompressionConfig{1, Shuffle::none, false}, CompressionConfig{1, Shuffle::byte, false},
                    CompressionConfig{1, Shuffle::bit, false}, CompressionConfig{3, Shuffle::none, true},
                    CompressionConfig{3, Shuffle::byte, true}, CompressionConfig{19, Shuffle::bit, true}),
    [](const auto& way) {
        return "number" + std::to_string(way.index);
    });  // ctest would print the padding between members

TEST(CameraRecord, AnEventWithoutBoardsIsARecordToo) {
    test::CameraEvent event = shower_event();
    for (std::uint32_t board = 0; board < layout.n_boards; ++board) event.remove(board);
    CameraDecoder decoder;
    CameraRecord decoded;
    ASSERT_EQ(decoder.decode(encode(event, {}), decoded), RecordVerdict::ok);
    EXPECT_EQ(decoded.waveforms.size(), 0U);
}

TEST(CameraRecord, BoardsMayDifferInLength) {
    test::CameraEvent event = shower_event();
    event.reshape(3, 0, 0, 0, 33);  // bytes without shape, an odd number
    CameraDecoder decoder;
    CameraRecord decoded;
    for (const Shuffle how : {Shuffle::none, Shuffle::byte, Shuffle::bit}) {
        ASSERT_EQ(decoder.decode(encode(event, {1, how, true}), decoded), RecordVerdict::ok);
        EXPECT_EQ(decoded.waveforms.size(), 11U * 1680 + 33);
        EXPECT_EQ(std::memcmp(decoded.waveforms.data() + 3 * 1680, event.view().payload(3), 33), 0);
        EXPECT_EQ(std::memcmp(decoded.waveforms.data() + 3 * 1680 + 33, event.view().payload(4), 1680), 0);
    }
}

TEST(CameraRecord, FirstCellsComeBackBehindTheirWaveforms) {
    test::CameraEvent event = shower_event();
    const wire::camera::FirstCells cells{0, 4095, 1, 4094, 2, 4093, 3, 4092};
    event.add_first_cells(3, cells);
    CameraDecoder decoder;
    CameraRecord decoded;
    for (const Shuffle how : {Shuffle::none, Shuffle::byte, Shuffle::bit}) {
        ASSERT_EQ(decoder.decode(encode(event, {1, how, true}), decoded), RecordVerdict::ok);
        EXPECT_EQ(decoded.waveforms.size(), 12U * 1680 + wire::camera::first_cells_bytes);
        const auto payload = decoded.waveforms.subspan(3 * 1680, 1680 + wire::camera::first_cells_bytes);
        EXPECT_EQ(std::memcmp(payload.data(), event.view().payload(3), payload.size()), 0);
        EXPECT_EQ(wire::camera::read_first_cells(payload), cells);
        EXPECT_EQ(first_cells_in(event.view().slot(3)), cells);
        EXPECT_EQ(first_cells_in(event.view().slot(4)), std::nullopt);
    }
}

TEST(CameraRecord, CountsWhatItDoes) {
    const test::CameraEvent event = shower_event();
    CounterPage page;
    auto counters = page.add_block<CompressCounter>("compress");
    CameraEncoder encoder({}, event.view().shape);
    std::vector<std::byte> record(encoder.max_record_bytes());
    const EncodedEvent made = encoder.encode_event(event.view(), record);
    made.count(counters);
    const EncodedEvent none = encoder.encode_event(event.view(), std::span(record).first(100));
    none.count(counters);
    EXPECT_TRUE(none.record.empty());
    EXPECT_EQ(counters[CompressCounter::events], 2U);
    EXPECT_EQ(counters[CompressCounter::events_encoded], 1U);
    EXPECT_EQ(counters[CompressCounter::events_failed], 1U);
    EXPECT_EQ(counters[CompressCounter::bytes_in], 12U * 1744);
    EXPECT_EQ(counters[CompressCounter::bytes_out], made.record.size());
    EXPECT_THROW(CameraEncoder({.level = 20}, event.view().shape), ConfigError);
    EXPECT_THROW(parse_word<Shuffle>("word", {}), ConfigError);
    EXPECT_EQ(parse_word<Shuffle>("byte", {}), Shuffle::byte);
}

TEST(CameraRecord, EveryChangedBitIsNoticed) {
    const auto record = encode(shower_event(), {});
    CameraDecoder decoder;
    CameraRecord decoded;
    for (std::size_t byte = 0; byte < record.size(); byte += byte < 200 ? 1 : 101) {
        auto changed = record;
        changed[byte] ^= std::byte{4};
        EXPECT_NE(decoder.decode(changed, decoded), RecordVerdict::ok) << byte;
    }
    for (const std::size_t length : {std::size_t{0}, std::size_t{63}, std::size_t{64}, record.size() - 1})
        EXPECT_NE(decoder.decode(std::span(record).first(length), decoded), RecordVerdict::ok) << length;
}

TEST(CameraRecord, SealedLiesAreFoundOut) {
    const auto record = encode(shower_event(), {});
    const auto verdict_with = [&](std::size_t at, auto value) {
        auto changed = record;
        wire::store_le(changed.data() + at, value);
        seal(changed);
        CameraDecoder decoder;
        CameraRecord decoded;
        return decoder.decode(changed, decoded);
    };
    EXPECT_EQ(verdict_with(0, std::uint32_t{1}), RecordVerdict::wrong_magic);
    EXPECT_EQ(verdict_with(4, std::uint8_t{2}), RecordVerdict::wrong_version);
    EXPECT_EQ(verdict_with(5, std::uint8_t{2}), RecordVerdict::wrong_flags);
    EXPECT_EQ(verdict_with(5, std::uint8_t{0}), RecordVerdict::wrong_length);
    EXPECT_EQ(verdict_with(6, std::uint8_t{3}), RecordVerdict::wrong_flags);
    EXPECT_EQ(verdict_with(7, std::uint8_t{2}), RecordVerdict::wrong_flags);
    EXPECT_EQ(verdict_with(20, std::uint16_t{1025}), RecordVerdict::wrong_boards);
    EXPECT_EQ(verdict_with(22, std::uint16_t{11}), RecordVerdict::wrong_boards);
    EXPECT_EQ(verdict_with(48, std::uint32_t{0xffffffff}), RecordVerdict::wrong_length);
    EXPECT_EQ(verdict_with(48, std::uint32_t{12 * 1744 - 2}), RecordVerdict::wrong_body);
    EXPECT_EQ(verdict_with(48, std::uint32_t{12 * 1744 + 2}), RecordVerdict::wrong_body);
    EXPECT_EQ(verdict_with(52, std::uint32_t{1}), RecordVerdict::wrong_length);
    EXPECT_EQ(verdict_with(64, std::uint64_t{0x1ffe}), RecordVerdict::wrong_boards) << "board 12 of 12";
}

RC_GTEST_PROP(CameraRecordProperty, ShufflesAndDifferencesAreUndone, ()) {
    const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
    const auto in = std::as_bytes(std::span(bytes));
    std::vector<std::byte> there(in.size()), back(in.size());
    for (const Shuffle how : {Shuffle::none, Shuffle::byte, Shuffle::bit}) {
        shuffle(how, in, there);
        undo_shuffle(how, there, back);
        RC_ASSERT(std::ranges::equal(back, in));
    }
    difference(in, there);
    undo_difference(there);
    RC_ASSERT(std::ranges::equal(there, in));
}

TEST(CameraCompression, BitsOfOneWeightLieTogether) {
    std::vector<std::byte> in(32), out(32);
    for (std::size_t i = 0; i < 16; ++i) wire::store_le(in.data() + 2 * i, static_cast<std::uint16_t>(i % 2 + 0x100));
    shuffle(Shuffle::bit, in, out);
    EXPECT_EQ(out[0], std::byte{0xaa});  // sample 0 in bit 0
    EXPECT_EQ(out[1], std::byte{0xaa});
    EXPECT_EQ(out[16], std::byte{0xff});
    EXPECT_EQ(out[2], std::byte{0});
    difference(in, out);
    EXPECT_EQ(wire::load_le<std::uint16_t>(out.data()), 0x200);
    EXPECT_EQ(wire::load_le<std::uint16_t>(out.data() + 2), 2);  // +1
    EXPECT_EQ(wire::load_le<std::uint16_t>(out.data() + 4), 1);  // -1
}

}  // namespace
}  // namespace anello::camera::record_test

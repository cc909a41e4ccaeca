// SPDX-License-Identifier: Apache-2.0
#include "camera/send/table/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "camera/chain/outlet_config.hpp"
#include "camera/send/event_encoder.hpp"
#include "camera/tests/camera_event.hpp"

namespace anello::camera {
namespace {

constexpr std::uint32_t n_tail_bytes = 16;
constexpr std::size_t header_bytes = wire::camera::header_bytes;

std::vector<std::byte> decoded(const store::Chunk& chunk, std::uint32_t filters, std::size_t n_bytes) {
    std::vector<std::byte> out(n_bytes);
    ChunkDecoder decoder;
    const std::span bytes(static_cast<const std::byte*>(chunk.bytes), chunk.n_bytes);
    EXPECT_TRUE(decoder.decode(bytes, filters & ~chunk.skipped_filters, out));
    return out;
}

TableShape shape_of(const test::CameraLayout& layout, std::uint32_t tail_bytes = 0) {
    return {layout.n_boards, layout.n_gains, layout.n_pixels, layout.n_samples, tail_bytes};
}

using Steps = std::tuple<int, Shuffle, std::uint16_t>;  // level, shuffle, samples
class Table : public testing::TestWithParam<Steps> {};

/// With an odd number of samples some are beyond the last group of eight.
TEST_P(Table, GivesEverySampleAndHeaderBack) {
    const auto [level, how, n_samples] = GetParam();
    const test::CameraLayout layout{.n_boards = 5, .n_pixels = 3, .n_samples = n_samples, .boards_per_group = 2};
    test::CameraEvent event(layout);
    source::Random random(3);
    test::fill_waveforms(event, random, 4, [](std::uint32_t p) { return p < 4 ? 12.0 : 0.0; });
    event.remove(3);
    const TableShape shape = shape_of(layout);
    TableEncoder encoder({.level = level, .shuffle = how}, shape);
    std::vector<std::byte> room(encoder.max_bytes());
    const EncodedEvent made = encoder.encode_event(event.view(), room);
    ASSERT_FALSE(made.is_empty());
    EXPECT_EQ(made.body_bytes, 4 * (header_bytes + shape.board_bytes()));
    EXPECT_EQ(made.table.n_misfits, 0U);
    EXPECT_EQ(made.table.tail.n_bytes, 0U);
    EXPECT_TRUE(made.record.empty());
    const auto waveform = decoded(made.table.waveform, by_bytes | by_bits | by_zstd, shape.waveform_bytes());
    // a column of headers has one filter, zstd, which is its bit 0
    store::Chunk headers_chunk = made.table.headers;
    headers_chunk.skipped_filters *= by_zstd;
    const auto headers = decoded(headers_chunk, by_zstd, shape.header_bytes());
    const std::vector<std::byte> nothing(event.view().shape.slot_bytes());
    for (std::uint32_t board = 0; board < layout.n_boards; ++board) {
        const std::byte* const slot = board == 3 ? nothing.data() : event.slot(board);
        EXPECT_EQ(std::memcmp(headers.data() + board * header_bytes, slot, header_bytes), 0) << board;
        EXPECT_EQ(std::memcmp(waveform.data() + board * shape.board_bytes(), slot + header_bytes, shape.board_bytes()),
                  0)
            << board;
    }
}
INSTANTIATE_TEST_SUITE_P(Steps, Table,
                         testing::Combine(testing::Values(0, 1, 6),
                                          testing::Values(Shuffle::none, Shuffle::byte, Shuffle::bit),
                                          testing::Values<std::uint16_t>(1, 7, 60)));

/// Whatever a payload holds behind its waveforms; of boards that are missing, zeros, whatever came before.
TEST(TableTail, HoldsWhatFollowsTheWaveforms) {
    const test::CameraLayout with_tail{.n_boards = 3, .n_samples = 61, .boards_per_group = 3};  // 28 bytes more
    const TableShape shape = shape_of({.n_boards = 3, .n_samples = 60}, 28);
    test::CameraEvent event(with_tail);
    event.reshape(0, 60, 7, 2, with_tail.payload_bytes());
    event.reshape(1, 60, 7, 2, static_cast<std::uint16_t>(shape.board_bytes() + 5));
    event.reshape(2, 60, 7, 2, static_cast<std::uint16_t>(shape.board_bytes()));
    for (std::uint32_t board = 0; board < 3; ++board)
        std::fill_n(event.slot(board) + header_bytes + shape.board_bytes(), 28, std::byte(7 + board));
    TableEncoder encoder({}, shape);
    std::vector<std::byte> room(encoder.max_bytes());
    const auto tail_of = [&] {
        const EncodedEvent made = encoder.encode_event(event.view(), room);
        EXPECT_EQ(made.table.n_misfits, 0U);
        return decoded(made.table.tail, by_zstd, shape.all_tail_bytes());
    };
    std::vector<std::byte> expected(3 * 28);
    std::fill_n(expected.begin(), 28, std::byte{7});
    std::fill_n(expected.begin() + 28, 5, std::byte{8});
    EXPECT_EQ(tail_of(), expected);
    event.remove(0);
    std::fill_n(expected.begin(), 28, std::byte{0});
    EXPECT_EQ(tail_of(), expected);
}

TEST(TableTail, IsAllOfPayloadsWithoutShape) {
    const test::CameraLayout layout{.n_boards = 2, .n_pixels = 1, .n_gains = 1, .n_samples = 8, .boards_per_group = 2};
    CameraOutletConfig config;
    config.integrate = false;
    config.file = "x.h5";
    const test::CameraEvent event(layout);
    const TableShape shape = config.table(event.view().shape).value();
    EXPECT_EQ(shape.board_bytes(), 0U);
    EXPECT_EQ(shape.tail_bytes, n_tail_bytes);
    TableEncoder encoder({}, shape);
    std::vector<std::byte> room(encoder.max_bytes());
    const EncodedEvent made = encoder.encode_event(event.view(), room);
    EXPECT_EQ(made.table.waveform.n_bytes, 0U);
    EXPECT_EQ(made.table.n_misfits, 0U);
    EXPECT_EQ(made.body_bytes, 2 * (header_bytes + n_tail_bytes));
}

TEST(TableShape, FitsWhatItHasRoomFor) {
    const TableShape shape{2, 2, 7, 60, 16};
    EXPECT_TRUE(shape.fits({60, 7, 2, 1680}));
    EXPECT_TRUE(shape.fits({60, 7, 2, 1696}));
    EXPECT_FALSE(shape.fits({60, 7, 2, 1697}));
    EXPECT_FALSE(shape.fits({60, 7, 2, 1679}));
    EXPECT_FALSE(shape.fits({59, 7, 2, 1680}));
    EXPECT_FALSE(shape.fits({60, 6, 2, 1680}));
    EXPECT_FALSE(shape.fits({60, 7, 1, 1680}));
    constexpr auto any = wire::camera::CountersKind::none;
    EXPECT_FALSE(shape.fits({60, 7, 1, 840, any, false})) << "which gain it is, is not said";
    EXPECT_TRUE(shape.fits({60, 7, 1, 840, any, true}));
    EXPECT_TRUE(shape.fits({60, 7, 1, 856, any, true}));
    EXPECT_FALSE(shape.fits({60, 7, 1, 857, any, true}));
}

/// Where the high gain stands in other rows; the rest are zeros, whatever was there before.
TEST(Table, HasRoomForOneOfTwoGains) {
    const test::CameraLayout layout{.n_boards = 2, .n_samples = 8, .boards_per_group = 2};
    test::CameraEvent event(layout);
    source::Random random(3);
    test::fill_waveforms(event, random, 4, [](std::uint32_t) { return 5.0; });
    const TableShape shape = shape_of(layout, n_tail_bytes);
    TableEncoder encoder({}, shape);
    std::vector<std::byte> room(encoder.max_bytes());
    encoder.encode_event(event.view(), room);
    event.select_gain(1, 0b11);
    const EncodedEvent made = encoder.encode_event(event.view(), room);
    EXPECT_EQ(made.table.n_misfits, 0U);
    const auto waveform = decoded(made.table.waveform, by_bytes | by_bits | by_zstd, shape.waveform_bytes());
    std::vector<std::byte> expected(event.slot(1) + header_bytes, event.slot(1) + header_bytes + shape.gain_bytes());
    expected.resize(shape.board_bytes());
    EXPECT_EQ(std::vector(waveform.begin() + static_cast<std::ptrdiff_t>(shape.board_bytes()), waveform.end()),
              expected);
}

TEST(ChunkDecoder, RefusesWhatDoesNotHoldItsBytes) {
    ChunkDecoder decoder;
    std::vector<std::byte> out(8);
    const std::vector<std::byte> eight(8), seven(7);
    EXPECT_TRUE(decoder.decode(eight, 0, out));
    EXPECT_FALSE(decoder.decode(seven, 0, out));
    EXPECT_FALSE(decoder.decode(eight, by_zstd, out));
    EXPECT_FALSE(decoder.decode({}, by_zstd, out));
    EXPECT_FALSE(decoder.decode(eight, 8, out));
}

TEST(ChunkDecoder, SeesDamage) {
    const test::CameraLayout layout{.n_boards = 4, .boards_per_group = 4};
    const TableShape shape = shape_of(layout);
    TableEncoder encoder({}, shape);
    std::vector<std::byte> room(encoder.max_bytes());
    const test::CameraEvent event(layout);
    const store::Chunk made = encoder.encode_event(event.view(), room).table.headers;
    ChunkDecoder decoder;
    std::vector<std::byte> out(shape.header_bytes());
    const std::span chunk(room.data() + (static_cast<const std::byte*>(made.bytes) - room.data()), made.n_bytes);
    ASSERT_TRUE(decoder.decode(chunk, by_zstd, out));
    chunk.back() ^= std::byte{1};  // of the checksum
    EXPECT_FALSE(decoder.decode(chunk, by_zstd, out));
}

TEST(EventEncoder, MakesWhatIsWantedAndNoMore) {
    const test::CameraLayout layout{.n_boards = 4, .boards_per_group = 4};
    const test::CameraEvent event(layout);
    const CameraShape shape = event.view().shape;
    CompressionChoices choices({});
    const auto made_of = [&](const EncodingConfig& config, std::vector<std::byte>& room) {
        EventEncoder encoder(config, shape);
        room.resize(encoder.max_bytes());
        return encoder.encode(choices, true, event.view(), room);
    };
    std::vector<std::byte> room;
    const EncodedEvent both = made_of({.compression = {}, .records = true, .table = shape_of(layout)}, room);
    CameraDecoder decoder;
    CameraRecord record;
    EXPECT_EQ(decoder.decode(both.record, record), RecordVerdict::ok);
    EXPECT_GT(both.table.size(), 0U);
    EXPECT_EQ(both.body_bytes, 2 * 4 * (header_bytes + layout.payload_bytes()));
    EXPECT_TRUE(made_of({.compression = {}, .records = false, .table = shape_of(layout)}, room).record.empty());
    EXPECT_EQ(made_of({.compression = {}}, room).table.size(), 0U);
}

/// The stream has records, whatever the file has.
TEST(CameraOutletConfig, EncodesEachFormatOnlyWhereItIsWanted) {
    const CameraShape shape;
    CameraOutletConfig config;
    EXPECT_FALSE(config.encodes());
    config.file = "x.h5";
    EXPECT_TRUE(config.encoding(shape).table.has_value());
    EXPECT_FALSE(config.encoding(shape).records);
    config.stream.host = "localhost";
    EXPECT_TRUE(config.encoding(shape).records);
    config.file_format = FileFormat::records;
    EXPECT_FALSE(config.encoding(shape).table.has_value());
    EXPECT_TRUE(config.encoding(shape).records);
}

/// What the table cannot express is not tried for it.
TEST(CompressionChoices, TheTablesHaveNoDifferences) {
    CompressionChoices choices({.choice = CompressionBy::measurement});
    std::size_t n_tried = 0;
    const std::vector<std::byte> bytes(8);
    for (; choices.table.is_open(); ++n_tried) {
        EXPECT_FALSE(choices.table.next().difference);
        choices.table.tried(1, {bytes, 8});
    }
    EXPECT_EQ(n_tried, 11 * CompressionChoice::events_per_candidate);
    EXPECT_TRUE(choices.record.is_open());
}

}  // namespace
}  // namespace anello::camera

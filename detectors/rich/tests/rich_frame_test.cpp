// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/rich_frame.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace anello::wire::rich_frame {
namespace {

constexpr std::int64_t ready_ns = 1'700'000'000'123'456'789;

std::vector<std::byte> frame_of_two() {
    const std::array<std::uint16_t, 3> ids{1, 976, 1951};
    const std::array<std::int16_t, 3> times{-300, 0, 300};
    std::vector<std::byte> bytes(record_bytes(3) + record_bytes(0));
    write({.timestamp_ticks = 77,
           .fine_time = 5,
           .board = 3,
           .n_hits = 3,
           .sent_ns = ready_ns - 4'000'000'000,
           .kernel_ns = 0,
           .hit_id = reinterpret_cast<const std::byte*>(ids.data()),
           .hit_time_fine = reinterpret_cast<const std::byte*>(times.data())},
          bytes.data());
    write({.timestamp_ticks = 78}, bytes.data() + record_bytes(3));
    return bytes;
}

TEST(RichFrame, GivesBackWhatWasWritten) {
    const std::vector<std::byte> bytes = frame_of_two();
    Reader reader(bytes, ready_ns);
    Record record;
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(record.timestamp_ticks, 77U);
    EXPECT_EQ(record.board, 3);
    EXPECT_EQ(record.sent_ns, ready_ns - 4'000'000'000);
    EXPECT_EQ(record.kernel_ns, 0) << "not known";
    EXPECT_EQ(load_le<std::uint16_t>(record.hit_id + 4), 1951);
    EXPECT_EQ(static_cast<std::int16_t>(load_le<std::uint16_t>(record.hit_time_fine)), -300);
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(record.n_hits, 0);
    EXPECT_FALSE(reader.next(record));
    EXPECT_EQ(reader.n_bytes_left(), 0U);
}

TEST(RichFrame, StampsOfAnyPacketAreCompleted) {
    constexpr std::int64_t earliest_ns = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t until_ns : {earliest_ns, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()})
        for (const std::uint32_t low : {1U, 0x80000000U, 0xffffffffU})
            EXPECT_EQ(low_half(whole_stamp(low, until_ns)), low);
    EXPECT_EQ(whole_stamp(0, earliest_ns), 0) << "not known";
}

TEST(RichFrame, TellsWhenTheBurstBegan) {
    for (const std::int64_t origin_ns :
         {ready_ns, std::int64_t{1} << 32, (std::int64_t{1} << 32) - 1, std::int64_t{5}}) {
        std::array<std::byte, record_header_bytes> bytes{};
        write(origin_record(origin_ns), bytes.data());
        Reader reader(bytes, ready_ns + 90'000'000'000);  // longer than a full cycle of the low half
        Record record;
        ASSERT_TRUE(reader.next(record));
        EXPECT_TRUE(is_origin(record));
        EXPECT_EQ(origin_of(record), origin_ns);
    }
    EXPECT_FALSE(is_origin({.board = 3}));
    EXPECT_FALSE(is_origin({.board = origin_board, .n_hits = 1}));
}

TEST(RichFrame, NoCutIsReadBeyondItsEnd) {
    const std::vector<std::byte> whole = frame_of_two();
    for (std::size_t n = 0; n < whole.size(); ++n) {
        const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
        Reader reader(cut, ready_ns);
        std::size_t n_records = 0;
        for (Record record; reader.next(record);) ++n_records;
        EXPECT_EQ(n_records, n >= record_bytes(3) ? 1U : 0U);
    }
}

}  // namespace
}  // namespace anello::wire::rich_frame

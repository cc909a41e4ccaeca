// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decision_record.hpp"

#include <gtest/gtest.h>

#include "unit/publish/record_copy.hpp"

namespace anello::rich {
namespace {

TEST(DecisionRecord, HasTheBatchAndItsRingsAsColumns) {
    const std::vector<std::uint64_t> key{10, 11, 12};
    const std::vector<std::uint8_t> fine{1, 2, 3}, flags{0, 1, 0};
    const std::vector<std::uint16_t> primitive{0, 0x101, 0x102};
    const std::vector<Nanoseconds> stamps{100, 200, 300};
    std::vector<EventRings> rings(3);
    rings[1] = {.n_rings = 1, .flags = 0, .ring = {{1, 2, 100, 9}}};
    rings[2] = {.n_rings = 2, .flags = 8, .ring = {{3, 4, 110, 8}, {5, 6, 120, 7}}};
    const DecisionBatch batch{3,
                              77,
                              true,
                              key.data(),
                              fine.data(),
                              flags.data(),
                              primitive.data(),
                              rings.data(),
                              stamps.data(),
                              stamps.data(),
                              stamps.data(),
                              400,
                              500};
    DecisionRecord record(3);
    for (int turn = 0; turn < 2; ++turn) {  // memory is used again
        record.fill(batch);
        EXPECT_LE(record.outgoing().length_bytes(), record.largest_bytes());
        const publish::test::Received copy = publish::test::copy_of(record.outgoing());
        const publish::RecordView view = publish::test::view_of(copy);
        EXPECT_EQ(view.header().kind, publish::RecordKind::decisions);
        EXPECT_EQ(view.header().run, 77U);
        EXPECT_EQ(view.value<std::uint8_t>("end_of_burst"), 1);
        EXPECT_EQ(view.value<std::int64_t>("decided_ns"), 500);
        EXPECT_EQ(publish::test::array_of<std::uint64_t>(view, "event_key"), key);
        EXPECT_EQ(publish::test::array_of<std::uint16_t>(view, "primitive_id"), primitive);
        EXPECT_EQ(publish::test::array_of<std::uint32_t>(view, "ring_offset"),
                  (std::vector<std::uint32_t>{0, 0, 1, 3}));
        EXPECT_EQ(publish::test::array_of<float>(view, "ring_radius_mm"), (std::vector<float>{100, 110, 120}));
        EXPECT_EQ(publish::test::array_of<std::uint16_t>(view, "ring_n_hits"), (std::vector<std::uint16_t>{9, 8, 7}));
        EXPECT_TRUE(view.array<double>("event_key").empty());
        EXPECT_TRUE(view.array<float>("no_such_array").empty());
    }
}

}  // namespace
}  // namespace anello::rich

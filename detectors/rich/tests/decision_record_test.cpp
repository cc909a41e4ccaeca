// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decision_record.hpp"

#include <gtest/gtest.h>

#include <cmath>

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
    for (int turn = 0; turn < 2; ++turn) {  // the second time in the same memory
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

TEST(DecisionRecord, HasTheQualityOfItsRingsWhereItIsAskedFor) {
    const std::vector<std::uint64_t> key{10, 11};
    const std::vector<std::uint8_t> zeros(2);
    const std::vector<std::uint16_t> primitive(2);
    const std::vector<Nanoseconds> stamps(2);
    std::vector<EventRings> rings(2);
    rings[0].n_rings = 1;
    rings[1].n_rings = 2;
    std::vector<EventQuality> quality(2);
    quality[0][0] = {.n_assigned = 9, .log_likelihood_ratio = 20, .covariance_mm2 = {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    quality[1][0] = {.n_assigned = 8, .log_likelihood_ratio = 10, .covariance_mm2 = {}};
    quality[1][1] = unknown_quality();
    const DecisionBatch batch{.n_events = 2,
                              .burst_id = 1,
                              .end_of_burst = false,
                              .event_key = key.data(),
                              .fine_time = zeros.data(),
                              .event_flags = zeros.data(),
                              .primitive_id = primitive.data(),
                              .rings = rings.data(),
                              .sent_ns = stamps.data(),
                              .kernel_ns = stamps.data(),
                              .placed_ns = stamps.data(),
                              .built_ns = 0,
                              .decided_ns = 0,
                              .quality = quality.data()};
    DecisionRecord record(2, true);
    for (int turn = 0; turn < 2; ++turn) {
        record.fill(batch);
        EXPECT_LE(record.outgoing().length_bytes(), record.largest_bytes());
        const publish::test::Received copy = publish::test::copy_of(record.outgoing());
        const publish::RecordView view = publish::test::view_of(copy);
        EXPECT_EQ(publish::test::array_of<std::uint16_t>(view, "ring_n_assigned"),
                  (std::vector<std::uint16_t>{9, 8, 0}));
        const auto ratio = publish::test::array_of<float>(view, "ring_log_likelihood_ratio");
        ASSERT_EQ(ratio.size(), 3U);
        EXPECT_EQ(ratio[0], 20);
        EXPECT_TRUE(std::isnan(ratio[2]));
        const auto covariance = publish::test::array_of<float>(view, "ring_covariance_mm2");
        ASSERT_EQ(covariance.size(), 27U);
        EXPECT_EQ(std::vector<float>(covariance.begin(), covariance.begin() + 9),
                  (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
        EXPECT_TRUE(std::isnan(covariance[18]));
    }
    DecisionRecord without(2);
    without.fill(batch);
    const publish::test::Received copy = publish::test::copy_of(without.outgoing());
    EXPECT_TRUE(publish::test::array_of<std::uint16_t>(publish::test::view_of(copy), "ring_n_assigned").empty());
}

}  // namespace
}  // namespace anello::rich

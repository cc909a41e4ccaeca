// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/latency.hpp"

#include <gtest/gtest.h>

namespace anello::rich {
namespace {

TEST(LatencyRecorder, CutsTheWayAtEachStamp) {
    const Nanoseconds sent[]{1000, 1000, 2000}, kernel[]{1500, 1500, 2600}, placed[]{3000, 3000, 3000};
    const std::uint64_t event_key[]{0, 0, 4};  // timestamps in ticks of 24.951 ns
    const std::uint8_t fine_time[]{0, 128, 128};
    DecisionBatch batch{};
    batch.n_events = 3;
    batch.event_key = event_key;
    batch.fine_time = fine_time;
    batch.burst_origin_ns = 800;
    batch.sent_ns = sent;
    batch.kernel_ns = kernel;
    batch.placed_ns = placed;
    batch.built_ns = 4000;
    batch.decided_ns = 6000;
    CounterPage page;
    LatencyRecorder latency(page);
    latency.record(batch, 6500);
    for (std::size_t leg = 0; leg < leg_names.size(); ++leg)
        EXPECT_EQ(latency.of(static_cast<Leg>(leg)).count(), 3U) << leg_names[leg];
    EXPECT_EQ(latency.of(Leg::sent_to_kernel).max_ns(), 600U);
    EXPECT_EQ(latency.of(Leg::kernel_to_placed).max_ns(), 1500U);
    EXPECT_EQ(latency.of(Leg::placed_to_built).max_ns(), 1000U);
    EXPECT_EQ(latency.of(Leg::built_to_decided).max_ns(), 2000U);
    EXPECT_EQ(latency.of(Leg::decided_to_emitted).max_ns(), 500U);
    EXPECT_EQ(latency.of(Leg::sent_to_decided).max_ns(), 5000U);
    EXPECT_EQ(latency.of(Leg::sent_to_emitted).max_ns(), 5500U);
    EXPECT_DOUBLE_EQ(latency.of(Leg::sent_to_decided).mean_ns(), (5000 + 5000 + 4000) / 3.0);
    EXPECT_DOUBLE_EQ(latency.of(Leg::event_to_sent).mean_ns(), (200 + 188 + (1200 - 112)) / 3.0);
    EXPECT_EQ(latency.of(Leg::event_to_decided).max_ns(), 5200U);
    EXPECT_EQ(latency.of(Leg::event_to_emitted).max_ns(), 5700U);
    EXPECT_EQ(latency.sent_to_decided().bin(0).count, 3U);
    EXPECT_EQ(latency.sent_to_decided().bin(0).sum_ns, 14'000U);
    EXPECT_EQ(latency.event_to_decided().bin(0).count, 3U);
    EXPECT_EQ(latency.event_to_decided().bin(0).max_ns, 5200U);
}

/// Events that were sent before their time: their source runs ahead of its clock, or sends wrong times.
TEST(LatencyRecorder, BelievesNoEventThatWasSentBeforeItWas) {
    const Nanoseconds sent[]{1000, 1000}, kernel[]{1500, 1500}, placed[]{3000, 3000};
    const std::uint64_t event_key[]{0, 0xffffffff};
    const std::uint8_t fine_time[]{0, 0};
    DecisionBatch batch{};
    batch.n_events = 2;
    batch.event_key = event_key;
    batch.fine_time = fine_time;
    batch.sent_ns = sent;
    batch.kernel_ns = kernel;
    batch.placed_ns = placed;
    batch.burst_origin_ns = 800;
    batch.decided_ns = 6000;
    CounterPage page;
    LatencyRecorder latency(page);
    latency.record(batch, 0);
    EXPECT_EQ(latency.of(Leg::event_to_decided).count(), 1U);
    EXPECT_EQ(latency.of(Leg::event_to_decided).max_ns(), 5200U);
    EXPECT_EQ(latency.of(Leg::sent_to_decided).count(), 2U);
}

TEST(LatencyRecorder, LeavesOutLegsWithoutStamps) {
    const Nanoseconds none[]{0}, placed[]{3000};
    DecisionBatch batch{};
    batch.n_events = 1;
    batch.sent_ns = none;
    batch.kernel_ns = none;
    batch.placed_ns = placed;
    batch.built_ns = 4000;
    batch.decided_ns = 6000;
    CounterPage page;
    LatencyRecorder latency(page);
    latency.record(batch, 0);
    EXPECT_EQ(latency.of(Leg::sent_to_decided).count(), 0U);
    EXPECT_EQ(latency.of(Leg::decided_to_emitted).count(), 0U);
    EXPECT_EQ(latency.of(Leg::built_to_decided).count(), 1U);
}

}  // namespace
}  // namespace anello::rich

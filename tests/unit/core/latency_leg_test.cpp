// SPDX-License-Identifier: Apache-2.0
#include "core/latency/latency_leg.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace anello {
namespace {

constexpr Nanoseconds s = 1'000'000'000, ms = 1'000'000;
constexpr Nanoseconds begin_ns = 1'700'000'000 * s;

class LastSeconds : public ::testing::Test {
  protected:
    std::uint64_t last(Nanoseconds window_ns) const { return leg->last(window_ns, now_ns)->count(); }
    /// Adds one latency of value_ns each millisecond.
    void record_for(Nanoseconds span_ns, std::int64_t value_ns) {
        for (const Nanoseconds end_ns = now_ns + span_ns; now_ns < end_ns; now_ns += ms) leg->record(now_ns, value_ns);
    }

    std::unique_ptr<LatencyLeg> leg = std::make_unique<LatencyLeg>();
    Nanoseconds now_ns = begin_ns;
};

TEST_F(LastSeconds, AreEmptyBeforeTheFirst) {
    EXPECT_EQ(last(s), 0U);
    EXPECT_EQ(last(10 * s), 0U);
}

TEST_F(LastSeconds, HoldAllOfAShortRun) {
    record_for(500 * ms, 20'000);
    EXPECT_EQ(last(s), 500U);
    EXPECT_EQ(last(10 * s), 500U);
}

TEST_F(LastSeconds, HoldNoMoreThanASecondBesides) {
    record_for(60 * s, 20'000);
    EXPECT_GE(last(s), 1000U);
    EXPECT_LE(last(s), 2000U);
    EXPECT_GE(last(10 * s), 10'000U);
    EXPECT_LE(last(10 * s), 11'000U);
    EXPECT_EQ(leg->run().count(), 60'000U);
}

TEST_F(LastSeconds, ForgetAnEarlyHiccup) {
    leg->record(now_ns, 500 * ms);
    record_for(9 * s, 20'000);
    EXPECT_GT(leg->last(10 * s, now_ns)->max_ns(), 490 * ms);
    record_for(3 * s, 20'000);
    EXPECT_LT(leg->last(10 * s, now_ns)->max_ns(), 21'000U);
    EXPECT_LT(leg->last(10 * s, now_ns)->quantile_ns(1.0), 21'000U);
    EXPECT_EQ(leg->run().max_ns(), static_cast<std::uint64_t>(500 * ms));
}

TEST_F(LastSeconds, AreEmptyOnceNothingCameForThatLong) {
    record_for(5 * s, 20'000);
    now_ns += 2 * s;
    EXPECT_EQ(last(s), 0U);
    EXPECT_GE(last(10 * s), 5000U);
    now_ns += 10 * s;
    EXPECT_EQ(last(10 * s), 0U);
}

TEST_F(LastSeconds, AfterAPauseHoldOnlyWhatCameSince) {
    record_for(5 * s, 20'000);
    now_ns += 60 * s;
    record_for(100 * ms, 20'000);
    EXPECT_EQ(last(s), 100U);
    EXPECT_EQ(last(10 * s), 100U);
}

TEST_F(LastSeconds, SurviveAClockThatIsPutBack) {
    record_for(20 * s, 20'000);
    now_ns -= 3600 * s;
    record_for(300 * ms, 20'000);
    EXPECT_EQ(last(s), 300U);
    record_for(20 * s, 20'000);
    EXPECT_LE(last(10 * s), 11'000U);
    EXPECT_GE(last(10 * s), 10'000U);
}

TEST_F(LastSeconds, AreNotCutByStampsThatComeOutOfOrder) {
    record_for(3 * s, 20'000);
    for (int i = 0; i < 100; ++i) leg->record(now_ns - (i % 2) * ms, 20'000);
    EXPECT_GE(last(s), 1100U);
    EXPECT_LE(last(s), 2100U);
}

TEST_F(LastSeconds, HaveTheBinsOfTheRun) {
    record_for(1500 * ms, 1'000'000);
    record_for(1500 * ms, 1'000);
    const auto recent = leg->last(s, now_ns);
    EXPECT_EQ(recent->bin_count(LatencyHistogram::bin_of(1'000)), recent->count() - recent->count_above(1'100));
    EXPECT_NEAR(static_cast<double>(recent->quantile_ns(0.5)), 1'000, 32);
}

}  // namespace
}  // namespace anello

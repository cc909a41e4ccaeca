// SPDX-License-Identifier: Apache-2.0
#include "core/latency/latency_series.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace anello {
namespace {

constexpr Nanoseconds bin_ns = LatencySeries::first_bin_ns;
constexpr Nanoseconds all_ns = bin_ns * static_cast<Nanoseconds>(LatencySeries::n_bins);
constexpr Nanoseconds start_ns = 7 * bin_ns + 3;  // bins begin at whole multiples, and this is an odd one

TEST(LatencySeries, ABinHasNumberSumGreatestAndLate) {
    LatencySeries series(100);
    series.record(start_ns, 40, 3);
    series.record(start_ns + 5, 100);
    series.record(start_ns + 6, 101);
    series.record(start_ns + 7, -20);
    series.record(start_ns + bin_ns, 500, 2);
    EXPECT_EQ(series.begin_ns(), 7 * bin_ns);
    EXPECT_EQ(series.n_used(), 2U);
    EXPECT_EQ(series.bin(0).count, 6U);
    EXPECT_EQ(series.bin(0).sum_ns, 321U);
    EXPECT_EQ(series.bin(0).max_ns, 101U);
    EXPECT_EQ(series.bin(0).n_late, 1U) << "100 is not above the limit";
    EXPECT_EQ(series.bin(1).n_late, 2U);
}

TEST(LatencySeries, WhatWasBeforeTheFirstCountsThere) {
    LatencySeries series;
    series.record(start_ns, 1);
    series.record(start_ns - 5 * bin_ns, 2);
    series.record(start_ns + bin_ns, 3);
    EXPECT_EQ(series.bin(0).count, 2U);
    EXPECT_EQ(series.bin(1).count, 1U);
}

TEST(LatencySeries, LongerRunsHaveLongerBins) {
    LatencySeries series(100);
    series.record(start_ns, 1);                 // alone: its bin's other half lies before the first
    series.record(start_ns + bin_ns, 200, 2);   // these two
    series.record(start_ns + 2 * bin_ns, 300);  // become one
    series.record(start_ns + all_ns, 4);
    EXPECT_EQ(series.bin_ns(), 2 * bin_ns);
    EXPECT_EQ(series.begin_ns(), 6 * bin_ns);
    EXPECT_EQ(series.bin(0).count, 1U);
    EXPECT_EQ(series.bin(1).count, 3U);
    EXPECT_EQ(series.bin(1).sum_ns, 700U);
    EXPECT_EQ(series.bin(1).max_ns, 300U);
    EXPECT_EQ(series.bin(1).n_late, 3U);
    EXPECT_EQ(series.n_used(), LatencySeries::n_bins / 2 + 1);
}

TEST(LatencySeries, AClockThatJumpsByYearsLosesNothing) {
    LatencySeries series;
    series.record(start_ns, 1, 10);
    series.record(start_ns + Nanoseconds{3} * 365 * 86'400 * 1'000'000'000, 2, 5);
    series.record(start_ns, 3);
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < series.n_used(); ++i) n += series.bin(i).count;
    EXPECT_EQ(n, 16U);
}

}  // namespace
}  // namespace anello

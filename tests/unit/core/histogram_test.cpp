// SPDX-License-Identifier: Apache-2.0
#include "core/latency/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace anello {
namespace {

TEST(LatencyHistogram, EveryValueLiesInItsBin) {
    for (std::uint64_t value : {0ULL, 1ULL, 31ULL, 32ULL, 33ULL, 1000ULL, 999'999ULL, 1ULL << 39, (1ULL << 40) - 1}) {
        const std::size_t bin = LatencyHistogram::bin_of(value);
        ASSERT_LT(bin, LatencyHistogram::n_bins);
        EXPECT_LE(LatencyHistogram::bin_lower_edge_ns(bin), value);
        if (bin + 1 < LatencyHistogram::n_bins) {
            EXPECT_GT(LatencyHistogram::bin_lower_edge_ns(bin + 1), value);
        }
    }
}

TEST(LatencyHistogram, QuantilesAgreeWithSortingToTheBinWidth) {
    constexpr unsigned seed = 20;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> latency(10.0, 1.5);
    auto histogram = std::make_unique<LatencyHistogram>();
    std::vector<std::uint64_t> values(20'000);
    for (auto& value : values) {
        value = static_cast<std::uint64_t>(latency(random));
        histogram->record(static_cast<std::int64_t>(value));
    }
    std::sort(values.begin(), values.end());
    for (double share : {0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto exact = static_cast<double>(values[static_cast<std::size_t>(std::ceil(share * 20'000)) - 1]);
        EXPECT_NEAR(static_cast<double>(histogram->quantile_ns(share)), exact, exact * 0.033 + 1.0) << share;
    }
    EXPECT_EQ(histogram->max_ns(), values.back());
}

TEST(LatencyHistogram, NegativeAndHugeValuesAreKept) {
    LatencyHistogram histogram;
    histogram.record(-5);
    histogram.record(std::int64_t{1} << 50);
    EXPECT_EQ(histogram.count(), 2U);
    EXPECT_EQ(histogram.bin_count(0), 1U);
    EXPECT_EQ(histogram.bin_count(LatencyHistogram::n_bins - 1), 1U);
}

TEST(LatencyHistogram, CountAboveAndMerge) {
    LatencyHistogram one, other;
    one.record(500'000, 3);
    other.record(2'000'000, 2);
    one.merge(other);
    EXPECT_EQ(one.count(), 5U);
    EXPECT_EQ(one.count_above(1'000'000), 2U);
    EXPECT_DOUBLE_EQ(one.mean_ns(), (3 * 500'000.0 + 2 * 2'000'000.0) / 5);
}

TEST(LatencyHistogram, AShareThatIsReachedExactlyNeedsNoMore) {
    LatencyHistogram histogram;
    for (const std::int64_t value_ns : {10, 20, 30, 1000}) histogram.record(value_ns);
    EXPECT_LE(histogram.quantile_ns(0.25), 11U);
    EXPECT_LE(histogram.quantile_ns(0.75), 31U);
    EXPECT_EQ(histogram.quantile_ns(0.76), 1000U);
}

TEST(LatencyHistogram, EmptyHasNoQuantile) {
    EXPECT_EQ(LatencyHistogram{}.quantile_ns(0.999), 0U);
}

}  // namespace
}  // namespace anello

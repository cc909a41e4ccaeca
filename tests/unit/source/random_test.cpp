// SPDX-License-Identifier: Apache-2.0
#include "source/random.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "source/selection.hpp"

using anello::source::natural_log;
using anello::source::Random;
using anello::source::selected;

namespace {

TEST(Random, GivesTheSameNumbersOnEveryMachine) {
    Random random(1, 2);
    EXPECT_EQ(random.bits(), 0x9edbe9bd18ad781dU);
    EXPECT_EQ(random.uniform(), 0.4904541878374269);
    EXPECT_EQ(random.gaussian(), 0.56536865234375);
    EXPECT_NEAR(random.exponential(), 1.4966872343579265, 1e-14);
    EXPECT_EQ(random.poisson(7.5), 6U);
}

TEST(Random, LogarithmAgreesWithTheLibrarys) {
    for (double value = 0x1p-53; value < 1e6; value *= 1.037)
        EXPECT_NEAR(natural_log(value), std::log(value), 1e-13 * std::max(1.0, std::abs(std::log(value)))) << value;
}

struct Moments {
    double mean = 0, variance = 0;
};

template <typename Draw>
Moments moments_of(int n, Draw draw) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
        const double value = static_cast<double>(draw());
        sum += value;
        squares += value * value;
    }
    const double mean = sum / n;
    return {mean, squares / n - mean * mean};
}

// Tolerances are five standard errors of 200,000 draws; the seed is fixed.
TEST(Random, DistributionsHaveTheirMoments) {
    Random random(42);
    constexpr int n = 200'000;
    const Moments gaussian = moments_of(n, [&] { return random.gaussian(); });
    EXPECT_NEAR(gaussian.mean, 0, 0.012);
    EXPECT_NEAR(gaussian.variance, 1, 0.016);
    const Moments exponential = moments_of(n, [&] { return random.exponential(); });
    EXPECT_NEAR(exponential.mean, 1, 0.012);
    EXPECT_NEAR(exponential.variance, 1, 0.032);
    const Moments poisson = moments_of(n, [&] { return random.poisson(12.9); });
    EXPECT_NEAR(poisson.mean, 12.9, 0.041);
    EXPECT_NEAR(poisson.variance, 12.9, 0.21);
    const Moments uniform = moments_of(n, [&] { return random.uniform(-1, 1); });
    EXPECT_NEAR(uniform.mean, 0, 0.0065);
    EXPECT_NEAR(uniform.variance, 1.0 / 3, 0.0035);
    EXPECT_EQ(random.poisson(0), 0U);
}

TEST(Random, DirectionsLieOnTheCircleAndAreIsotropic) {
    Random random(3);
    double sum_x = 0, sum_y = 0, sum_xy = 0;
    for (int i = 0; i < 50'000; ++i) {
        double x = 0, y = 0;
        random.direction(x, y);
        ASSERT_NEAR(x * x + y * y, 1, 1e-12);
        sum_x += x, sum_y += y, sum_xy += x * y;
    }
    EXPECT_NEAR(sum_x / 50'000, 0, 0.016);
    EXPECT_NEAR(sum_y / 50'000, 0, 0.016);
    EXPECT_NEAR(sum_xy / 50'000, 0, 0.008);
}

TEST(Selection, TakesItsShareOfNeighbouringKeys) {
    std::uint32_t n_selected = 0;
    for (std::uint64_t key = 0; key < 160'000; ++key) n_selected += selected((3ULL << 32) + key * 4, 4);
    EXPECT_NEAR(n_selected, 10'000, 490);
    EXPECT_TRUE(selected(12345, 0));
}

}  // namespace

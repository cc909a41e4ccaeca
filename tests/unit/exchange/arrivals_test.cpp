// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/arrivals.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace anello::exchange::test {
namespace {

TEST(Arrivals, InOrderNothingIsLost) {
    Arrivals arrivals;
    for (std::uint32_t number = 1; number <= 3 * Arrivals::window; ++number) {
        const Arrivals::Taken taken = arrivals.take(number);
        ASSERT_TRUE(taken.is_new);
        ASSERT_EQ(taken.n_given_up, 0U);
    }
    EXPECT_EQ(arrivals.give_up_open(), 0U);
    EXPECT_EQ(arrivals.n_come(), 3 * Arrivals::window);
}

TEST(Arrivals, WhatComesTwiceIsKnownByItsNumber) {
    Arrivals arrivals;
    EXPECT_TRUE(arrivals.take(3).is_new);
    EXPECT_TRUE(arrivals.take(1).is_new);
    EXPECT_FALSE(arrivals.take(3).is_new);
    EXPECT_FALSE(arrivals.take(1).is_new);
    EXPECT_EQ(arrivals.give_up_open(), 1U) << "the second never came";
    EXPECT_FALSE(arrivals.take(2).is_new) << "it was given up";
}

TEST(Arrivals, ALeapOverMoreThanTheWindowLosesAllOfIt) {
    Arrivals arrivals;
    arrivals.take(1);
    const Arrivals::Taken taken = arrivals.take(10 * Arrivals::window);
    EXPECT_EQ(taken.n_given_up + arrivals.give_up_open(), 10U * Arrivals::window - 2);
}

/// Against a set of all numbers; the order is that of a network that overtakes, doubles and loses, and numbers wrap.
TEST(Arrivals, AgreeWithASetOfAllNumbers) {
    constexpr std::uint32_t seed = 7;
    for (const std::uint32_t first : {1U, 0xffffffffU - 2 * Arrivals::window}) {
        std::mt19937 engine(seed);
        Arrivals arrivals;
        if (first > 1)
            for (const std::uint32_t number : {0x40000000U, 0x80000000U, 0xc0000000U, first - 1}) arrivals.take(number);
        arrivals.give_up_open();
        const std::uint64_t n_before = arrivals.n_come(), n_given_up_before = arrivals.n_given_up();
        std::set<std::uint32_t> come;
        std::uint32_t newest = 0;  // from first on
        for (std::uint32_t i = 0; i < 8 * Arrivals::window; ++i) {
            if (engine() % 10 == 0) continue;  // lost
            const std::uint32_t number = i - std::min(i, static_cast<std::uint32_t>(engine() % 100));
            ASSERT_EQ(arrivals.take(first + number).is_new, come.insert(number).second) << seed << ' ' << number;
            newest = std::max(newest, number);
        }
        arrivals.give_up_open();
        EXPECT_EQ(arrivals.newest(), first + newest);
        EXPECT_EQ(arrivals.n_come() - n_before, come.size());
        EXPECT_EQ(arrivals.n_given_up() - n_given_up_before, newest + 1 - come.size());
    }
}

}  // namespace
}  // namespace anello::exchange::test

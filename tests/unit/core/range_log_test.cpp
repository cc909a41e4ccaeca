// SPDX-License-Identifier: Apache-2.0
#include "core/range_log.hpp"

#include <gtest/gtest.h>

namespace anello {
namespace {

TEST(RangeLog, JoinsWhatFollowsAndKeepsApartWhatDoesNot) {
    RangeLog log(10);
    log.add(0, 3, 5);
    log.add(0, 5, 6);
    log.add(0, 6, 6);
    log.add(0, 6, 7, 1);
    log.add(1, 7, 8, 1);
    ASSERT_EQ(log.ranges().size(), 3U);
    EXPECT_EQ(log.ranges()[0].begin, 3U);
    EXPECT_EQ(log.ranges()[0].end, 6U);
    EXPECT_EQ(log.ranges()[1].cause, 1U);
    EXPECT_EQ(log.ranges()[2].epoch, 1U);
    EXPECT_EQ(log.n_not_listed(), 0U);
}

TEST(RangeLog, CountsWhatFindsNoRoom) {
    RangeLog log(2);
    for (std::uint64_t i = 0; i < 5; ++i) log.add(0, 10 * i, 10 * i + 3);
    EXPECT_EQ(log.ranges().size(), 2U);
    EXPECT_EQ(log.n_not_listed(), 9U);
}

}  // namespace
}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#include "core/running_time.hpp"

#include <gtest/gtest.h>

namespace anello {
namespace {

TEST(RunningTime, GoesWithTheClockWhileTheStageRuns) {
    RunningTime time(1000);
    EXPECT_EQ(time.look(1000), 1000);
    EXPECT_EQ(time.look(501'000), 501'000);
    EXPECT_EQ(time.look(1'501'000), 1'501'000);
    EXPECT_EQ(time.look(1'500'000), 1'501'000) << "and never back";
}

TEST(RunningTime, StandsStillWithTheStage) {
    RunningTime time(0);
    EXPECT_EQ(time.look(100'000'000), RunningTime::longest_step_ns);
    EXPECT_EQ(time.look(100'500'000), RunningTime::longest_step_ns + 500'000);
    EXPECT_EQ(time.now_ns(), RunningTime::longest_step_ns + 500'000);
}

TEST(RunningTime, CatchesUpWithWhatWasLookedAt) {
    RunningTime time(0);
    time.look(100'000'000);
    time.catch_up(90'000'000);
    EXPECT_EQ(time.now_ns(), 90'000'000);
    time.catch_up(5);
    EXPECT_EQ(time.look(100'000'100), 90'000'100);
}

}  // namespace
}  // namespace anello

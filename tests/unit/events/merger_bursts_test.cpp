// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/events/merger_rig.hpp"

namespace anello::events::test {
namespace {

using Fragments = std::vector<TestFragment>;

MergerConfig three_boards() {
    MergerConfig config;
    config.n_boards = 3;
    config.batch = {.max_events = 8, .max_hits = 64};
    return config;
}

TEST(MergerBursts, ASilentBoardDoesNotStopTheOthersAndRecovers) {
    MergerRig rig(three_boards());
    rig.source.give(0, Fragments{{100}, {200}});
    rig.source.give(1, Fragments{{100}, {200}});
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_built), 0U);
    rig.pass(rig.config.timeout_ns - 1);
    EXPECT_EQ(rig.value(BuildCounter::events_built), 0U) << "not before the timeout";
    rig.pass(1);
    EXPECT_EQ(rig.value(BuildCounter::events_built), 2U);
    EXPECT_EQ(rig.merger.status(2).state, BoardState::silent);
    EXPECT_EQ(rig.merger.status(2).silences, 1U);
    EXPECT_EQ(rig.merger.status(0).state, BoardState::live);

    rig.source.give(2, Fragments{{100}, {200}, {300}});  // back again; its first two have missed their events
    rig.work();
    EXPECT_EQ(rig.merger.status(2).state, BoardState::live);
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 2U);
    rig.source.give(0, Fragments{{300}});
    rig.source.give(1, Fragments{{300}});
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 1U);
    for (std::uint32_t board = 0; board < 3; ++board) rig.source.end(board);
    rig.work();
    EXPECT_EQ(rig.events.back().flags, 0);
    rig.expect_balance();
}

TEST(MergerBursts, MostBoardsSayWhichBurstIsNext) {
    for (const std::uint32_t alone : {0U, 2U}) {  // first and last to be asked
        MergerRig rig(three_boards());
        for (std::uint32_t board = 0; board < 3; ++board) rig.source.end(board, 1);
        rig.work();
        for (std::uint32_t board = 0; board < 3; ++board) {
            const bool is_alone = board == alone;  // with the nearer burst
            rig.source.give(board, Fragments{{is_alone ? 100U : 900U}}, is_alone ? 2 : 5);
            if (!is_alone) rig.source.end(board, 5);
        }
        rig.pass(rig.config.timeout_ns);
        ASSERT_EQ(rig.events.size(), 1U);
        EXPECT_EQ(rig.events[0].event_key, event_key(5, 900));
        ASSERT_TRUE(rig.finish());
        EXPECT_EQ(rig.events.size(), 1U);
        EXPECT_EQ(rig.value(BuildCounter::fragments_ahead), 1U) << "nobody has followed the other";
        rig.expect_balance();
    }
}

/// After a pause of this process all fragments are there at once, and one board has lost a whole burst.
TEST(MergerBursts, ABurstThatABoardLacksIsNotPutBehindTheNext) {
    MergerRig rig(three_boards());
    for (std::uint32_t board = 0; board < 3; ++board) rig.source.end(board, 1);
    rig.work();
    for (const std::uint32_t burst : {2U, 3U})
        for (std::uint32_t board = 0; board < 3; ++board) {
            if (board == 1 && burst == 2) continue;
            rig.source.give(board, Fragments{{100 * burst}}, burst);
            rig.source.end(board, burst);
        }
    rig.pass(rig.config.timeout_ns);
    ASSERT_EQ(rig.events.size(), 2U);
    EXPECT_EQ(rig.events[0].event_key, event_key(2, 200));
    EXPECT_EQ(rig.events[1].event_key, event_key(3, 300));
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 1U);
    ASSERT_TRUE(rig.finish());
    rig.expect_balance();
}

TEST(MergerBursts, IdleBoardsAreNotSilent) {
    MergerRig rig(three_boards());
    for (std::uint32_t board = 0; board < 3; ++board) rig.source.give(board, Fragments{{100}});
    rig.work();
    for (int i = 0; i < 5; ++i) {
        rig.pass(rig.config.timeout_ns);
    }
    EXPECT_EQ(rig.value(BuildCounter::boards_silenced), 0U) << "nobody waits for anything";
    EXPECT_EQ(rig.events.size(), 1U);
}

TEST(MergerBursts, ADeadBoardCostsOneTimeoutNotOnePerBurst) {
    MergerRig rig(three_boards());
    for (std::uint32_t burst = 1; burst <= 3; ++burst) {
        for (std::uint32_t board = 0; board < 2; ++board) {
            rig.source.give(board, Fragments{{100}}, burst);
            rig.source.end(board, burst);
        }
        rig.work();
        if (burst == 1) {
            rig.pass(rig.config.timeout_ns);
        }
        EXPECT_EQ(rig.value(BuildCounter::bursts_out), burst);
    }
    EXPECT_EQ(rig.value(BuildCounter::boards_silenced), 1U);
    EXPECT_EQ(rig.merger.board_counters(2)[BoardCounter::missing], 3U);
    rig.expect_balance();
}

/// A board that gave data two bursts ago does not count as one that gave data in the last.
TEST(MergerBursts, ABoardThatDiesBetweenBurstsCostsOneTimeout) {
    MergerRig rig(three_boards());
    for (std::uint32_t burst = 1; burst <= 5; ++burst) {
        for (std::uint32_t board = 0; board < (burst == 1 ? 3U : 2U); ++board) {
            rig.source.give(board, Fragments{{100}}, burst);
            rig.source.end(board, burst);
        }
        rig.work();
        if (burst == 2) rig.pass(rig.config.timeout_ns);
        EXPECT_EQ(rig.value(BuildCounter::bursts_out), burst);
    }
    EXPECT_EQ(rig.value(BuildCounter::boards_silenced), 1U);
    rig.expect_balance();
}

/// A board dies in a burst, and the merger waits for it once in the next: it may have lost only the end of its burst.
TEST(MergerBursts, ABoardThatFallsSilentAfterItGaveDataIsWaitedForInTheNextBurst) {
    MergerRig rig(three_boards());
    for (std::uint32_t burst = 1; burst <= 4; ++burst) {
        for (std::uint32_t board = 0; board < 2; ++board) {
            rig.source.give(board, Fragments{{100}}, burst);
            rig.source.end(board, burst);
        }
        if (burst == 1) rig.source.give(2, Fragments{{100}}, burst);
        rig.work();
        EXPECT_EQ(rig.value(BuildCounter::bursts_out), burst <= 2 ? burst - 1 : burst);
        if (burst <= 2) rig.pass(rig.config.timeout_ns);
        EXPECT_EQ(rig.value(BuildCounter::bursts_out), burst);
    }
    EXPECT_EQ(rig.value(BuildCounter::boards_silenced), 2U);
    rig.expect_balance();
}

TEST(MergerBursts, EveryBurstEndsWithOneLastBatch) {
    MergerRig rig(three_boards());
    for (std::uint32_t board = 0; board < 3; ++board) {
        rig.source.give(board, Fragments{{0xffff0000}}, 1);
        rig.source.end(board, 1);
        rig.source.end(board, 2);  // a burst without events
        rig.source.give(board, Fragments{{7}}, 3, receive::CloseReason::end_of_burst);
        rig.source.end(board, 3);  // said twice
    }
    rig.work();
    ASSERT_EQ(rig.completions.size(), 3U);
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(rig.completions[i].burst_id, i + 1);
        EXPECT_TRUE(rig.completions[i].end_of_burst);
    }
    EXPECT_EQ(rig.completions[1].n_events, 0U);
    EXPECT_EQ(rig.events[1].event_key, event_key(3, 7));
    rig.expect_balance();
}

TEST(MergerBursts, ABoardOneBurstAheadWaits) {
    MergerRig rig(three_boards());
    rig.source.give(0, Fragments{{100}}, 2);  // board 0 lost all of burst 1
    rig.source.give(1, Fragments{{900}}, 1);
    rig.source.give(2, Fragments{{900}}, 1);
    rig.source.end(1, 1);
    rig.source.end(2, 1);
    rig.work();
    EXPECT_EQ(rig.events.size(), 0U) << "board 0 could still send fragments of burst 1";
    rig.pass(rig.config.timeout_ns);
    ASSERT_EQ(rig.events.size(), 1U);
    EXPECT_EQ(rig.events[0].event_key, event_key(1, 900));
    rig.source.give(1, Fragments{{100}}, 2);
    rig.source.give(2, Fragments{{100}}, 2);
    for (std::uint32_t board = 0; board < 3; ++board) rig.source.end(board, 2);
    rig.work();
    ASSERT_EQ(rig.events.size(), 2U);
    EXPECT_EQ(rig.events[1].event_key, event_key(2, 100));
    EXPECT_EQ(rig.events[1].flags, 0);
    rig.expect_balance();
}

TEST(MergerBursts, FragmentsOfABurstThatHasGoneAreLate) {
    MergerRig rig(three_boards());
    for (std::uint32_t board = 0; board < 3; ++board) rig.source.end(board, 1);
    rig.work();
    rig.source.give(0, Fragments{{100, 0, {1}}}, 1);
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 1U);
    EXPECT_EQ(rig.events.size(), 0U);
    rig.expect_balance();
}

TEST(MergerBursts, ADamagedBurstNumberCostsItsOwnFragmentsOnly) {
    MergerRig rig(three_boards());
    rig.source.give(1, Fragments{{5}}, 0xdead0000);
    rig.work();
    for (std::uint32_t board = 0; board < 3; ++board) {
        rig.source.give(board, Fragments{{100}, {200}}, 1);
        rig.source.end(board, 1);
    }
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::bursts_out), 1U);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 2U);
    EXPECT_EQ(rig.value(BuildCounter::boards_silenced), 0U);
    ASSERT_TRUE(rig.finish());
    EXPECT_EQ(rig.events.size(), 2U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_ahead), 1U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
    rig.expect_balance();
}

/// A batch is full while all blocks are taken: the merger could take no more, though there may be more.
TEST(MergerBursts, FinishWaitsForWhatHadNoRoom) {
    MergerConfig config = three_boards();
    config.batch.max_events = 2;
    config.blocks_per_board = 2;
    MergerRig rig(config);
    for (std::uint32_t board = 0; board < 3; ++board) {
        rig.source.give(board, Fragments{{100}, {200}, {300}});
        rig.source.give(board, Fragments{{400}});
        rig.source.give(board, Fragments{{500}});
        rig.source.end(board);
    }
    ASSERT_TRUE(rig.finish());
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 5U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
    rig.expect_balance();
}

TEST(MergerBursts, FinishMergesWhatIsThereWithoutWaiting) {
    MergerRig rig(three_boards());
    rig.source.give(0, Fragments{{100}, {200}});
    rig.source.give(1, Fragments{{100}}, 1, receive::CloseReason::stop);
    for (std::uint32_t board = 1; board < 3; ++board) rig.source.give(board, Fragments{{100}}, 2);
    rig.work();
    EXPECT_FALSE(rig.merger.is_drained());
    ASSERT_TRUE(rig.finish());
    EXPECT_EQ(rig.events.size(), 3U);
    EXPECT_EQ(rig.value(BuildCounter::bursts_out), 2U);
    rig.expect_balance();
}

TEST(MergerBursts, CanBeDrainedWithoutAnyInput) {
    MergerRig rig(three_boards());
    EXPECT_TRUE(rig.finish());
    EXPECT_EQ(rig.completions.size(), 0U);
}

MergerConfig four_boards() {
    MergerConfig config = three_boards();
    config.n_boards = 4;
    return config;
}

/// Four boards; until now strangers spoke for the last two.
void expect_all_of_the_boards_own(MergerRig& rig) {
    for (const std::uint32_t board : {2U, 3U}) rig.source.disown(board);
    rig.work();
    for (std::uint32_t board = 0; board < 4; ++board) {
        rig.source.give(board, Fragments{{100}, {300}});
        rig.source.end(board);
    }
    ASSERT_TRUE(rig.finish());
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 2U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
}

/// Another program has run for a short time in the name of half of the boards, before they begin.
TEST(MergerBursts, ABurstThatOnlyStrangersBeganIsNotGone) {
    MergerRig rig(four_boards());
    for (const std::uint32_t board : {2U, 3U}) {
        rig.source.give(board, Fragments{{100}, {200}});
        rig.source.end(board);
    }
    rig.pass(4 * rig.config.timeout_ns);
    ASSERT_EQ(rig.value(BuildCounter::bursts_out), 1U);
    expect_all_of_the_boards_own(rig);
    rig.expect_balance();
}

TEST(MergerBursts, ABurstThatOneBoardAndAStrangerBeganIsNotGone) {
    MergerRig rig(four_boards());
    for (const std::uint32_t board : {2U, 3U}) {
        rig.source.give(board, Fragments{{100}});
        rig.source.end(board);
    }
    rig.pass(4 * rig.config.timeout_ns);
    ASSERT_EQ(rig.value(BuildCounter::bursts_out), 1U);
    rig.source.disown(3);
    rig.work();
    for (const std::uint32_t board : {0U, 1U, 3U}) {
        rig.source.give(board, Fragments{{100}, {300}});
        rig.source.end(board);
    }
    ASSERT_TRUE(rig.finish());
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
    EXPECT_EQ(rig.value(BuildCounter::events_incomplete), 3U);
    rig.expect_balance();
}

TEST(MergerBursts, OneStrangerOfThreeBoardsLeavesABurstGone) {
    MergerRig rig(three_boards());
    for (std::uint32_t board = 0; board < 3; ++board) rig.source.end(board);
    rig.work();
    rig.source.disown(2);
    rig.source.give(1, Fragments{{300}});
    ASSERT_TRUE(rig.finish());
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 1U);
    rig.expect_balance();
}

TEST(MergerBursts, TimesThatOnlyStrangersToldMakeNothingLate) {
    MergerRig rig(four_boards());
    for (const std::uint32_t board : {2U, 3U}) rig.source.give(board, Fragments{{5'000'000}});
    rig.pass(2 * rig.config.timeout_ns);
    ASSERT_EQ(rig.value(BuildCounter::events_incomplete), 1U);
    expect_all_of_the_boards_own(rig);
    EXPECT_EQ(std::ranges::count_if(rig.completions, &BatchCompletion::end_of_burst), 2)
        << "what strangers began is over for who takes the events";
    rig.expect_balance();
}

TEST(MergerBursts, WhatIsLeftOfADisownedSourceIsDropped) {
    MergerRig rig(four_boards());
    for (const std::uint32_t board : {0U, 1U}) rig.source.give(board, Fragments{{100, 0, {1}}});
    rig.work();
    rig.source.give(2, Fragments{{100, 0, {2, 3}}, {200, 0, {4}}});  // of the burst
    rig.source.give(2, Fragments{{100, 0, {5, 6, 7}}}, 9);           // waits
    rig.work();
    rig.source.disown(2);
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::fragments_disowned), 3U);
    EXPECT_EQ(rig.value(BuildCounter::hits_disowned), 6U);
    EXPECT_EQ(rig.merger.board_counters(2)[BoardCounter::fragments_disowned], 3U);
    rig.source.give(2, Fragments{{100, 0, {8}}});
    rig.source.give(3, Fragments{{100, 0, {9}}});
    for (std::uint32_t board = 0; board < 4; ++board) rig.source.end(board);
    ASSERT_TRUE(rig.finish());
    ASSERT_EQ(rig.events.size(), 1U);
    EXPECT_THAT(rig.events[0].hit_id, testing::ElementsAre(1, 1, 8, 9));
    rig.expect_balance();
}

}  // namespace
}  // namespace anello::events::test

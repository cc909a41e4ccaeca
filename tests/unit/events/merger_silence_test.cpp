// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "unit/events/merger_rig.hpp"

/// A board is silent only when its input was seen empty for the time-out.
namespace anello::events::test::merger_silence_test {
namespace {

using Fragments = std::vector<TestFragment>;
using enum BuildCounter;

/// Three boards whose events are given one by one, a millisecond and 40,000 ticks apart.
struct Rig : MergerRig {
    static constexpr Nanoseconds step_ns = 1'000'000;
    Rig() : MergerRig({.n_boards = 3, .close_when_idle = true}) {}

    void give(std::uint32_t board, std::uint32_t event) {
        source.give(board, Fragments{{.timestamp_ticks = 40'000 * event}});
    }
    /// Boards 0 and 1 send the next event, and time passes.
    void go_on(std::uint32_t event) {
        for (std::uint32_t board = 0; board < 2; ++board) give(board, event);
        clock.advance(step_ns);
        work();
    }
    void expect_all_complete(std::uint64_t n_events) {
        EXPECT_TRUE(finish());
        EXPECT_EQ(value(events_complete), n_events);
        EXPECT_EQ(value(events_incomplete), 0U);
        EXPECT_EQ(value(fragments_late), 0U);
        EXPECT_EQ(value(boards_silenced), 0U);
        expect_balance();
    }
};

/// The node, or its receiving thread, was stopped: the board's datagrams of that time lie in the kernel.
TEST(MergerSilence, NoBoardIsSilentWhileTheNodeItselfStoodStill) {
    Rig rig;
    for (std::uint32_t event = 1; event <= 5; ++event) {
        rig.source.read_until[2] = rig.clock.monotonic_ns();
        rig.go_on(event);
        rig.clock.advance(5 * rig.config.timeout_ns);
        rig.work();
        EXPECT_EQ(rig.value(boards_silenced), 0U);
        rig.give(2, event);
        rig.source.read_until[2].reset();
        rig.work();
    }
    rig.expect_all_complete(5);
}

/// Half of the boards have begun anew in a burst, which ended it for them; another board is in it for much longer.
TEST(MergerSilence, ABoardThatSendsIsNotSilentAfterHalfOfTheBoardsHaveEndedTheBurst) {
    Rig rig;
    for (std::uint32_t board = 0; board < 3; ++board) rig.give(board, 1);
    for (const std::uint32_t board : {1U, 2U}) rig.source.end(board);
    rig.work();
    const auto n_events = static_cast<std::uint32_t>(3 * rig.config.timeout_ns / Rig::step_ns);
    for (std::uint32_t event = 2; event <= n_events; ++event) {
        rig.clock.advance(Rig::step_ns);
        rig.work();
        rig.give(0, event);
        rig.work();
    }
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    rig.source.end(0);
    EXPECT_TRUE(rig.finish());
    EXPECT_EQ(rig.value(fragments_late), 0U);
    EXPECT_EQ(rig.value(events_built), n_events);
}

/// The node runs all the time, and is behind with one board.
TEST(MergerSilence, WhatLiesUnreadIsNotMissing) {
    Rig rig;
    rig.source.read_until[2] = rig.clock.monotonic_ns();
    const auto n_events = static_cast<std::uint32_t>(3 * rig.config.timeout_ns / Rig::step_ns);
    for (std::uint32_t event = 1; event <= n_events; ++event) rig.go_on(event);
    EXPECT_EQ(rig.value(events_built), 0U);
    for (std::uint32_t event = 1; event <= n_events; ++event) {
        rig.give(2, event);
        *rig.source.read_until[2] += Rig::step_ns;
        rig.clock.advance(Rig::step_ns / 10);
        rig.work();
    }
    rig.source.read_until[2].reset();
    rig.work();
    rig.expect_all_complete(n_events);
}

/// A stage after the merger stood still: no buffer came free, so nothing was read from boards that seem silent here.
TEST(MergerSilence, WhatIsNotReadForWantOfBuffersIsNotMissing) {
    Rig rig;
    rig.go_on(1);
    rig.source.read_until[2] = rig.clock.monotonic_ns();
    rig.source.is_unwanted[2] = true;
    for (int i = 0; i < 5; ++i) rig.pass(rig.config.timeout_ns);
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    rig.source.is_unwanted[2] = false;
    rig.give(2, 1);
    rig.source.read_until[2].reset();
    rig.work();
    rig.expect_all_complete(1);
}

/// Nothing is read from a board, since all its blocks are here and wait for another burst: this would never end.
TEST(MergerSilence, WhoseBlocksAllWaitHereIsSilentAfterTheTimeOut) {
    Rig rig;
    rig.go_on(1);
    rig.source.give(2, Fragments{{40'000}}, 7);
    rig.source.read_until[2] = rig.clock.monotonic_ns();
    rig.source.is_unwanted[2] = true;
    rig.pass(rig.config.timeout_ns - 2 * Rig::step_ns);
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    rig.pass(3 * Rig::step_ns);
    EXPECT_EQ(rig.value(boards_silenced), 1U);
    EXPECT_EQ(rig.value(events_incomplete), 1U);
}

/// All unread fragments come in one step, and none is left for the event that waits then.
TEST(MergerSilence, ABoardThatCatchesUpInOneStepIsNotSilent) {
    Rig rig;
    rig.source.read_until[2] = rig.clock.monotonic_ns();
    for (std::uint32_t event = 1; event <= 30; ++event) rig.go_on(event);
    for (std::uint32_t event = 1; event <= 29; ++event) rig.give(2, event);
    rig.source.read_until[2].reset();
    rig.work();
    EXPECT_EQ(rig.value(events_complete), 29U);
    rig.give(2, 30);
    rig.work();
    rig.expect_all_complete(30);
}

TEST(MergerSilence, ABoardThatIsAlwaysALittleLaterIsNotSilent) {
    Rig rig;
    rig.go_on(1);
    for (std::uint32_t event = 2; event <= 100; ++event) {
        rig.give(2, event - 1);
        rig.go_on(event);
    }
    rig.give(2, 100);
    rig.work();
    rig.expect_all_complete(100);
}

TEST(MergerSilence, WhoSendsNothingIsSilentAfterTheTimeOut) {
    Rig rig;
    rig.go_on(1);
    rig.pass(rig.config.timeout_ns - 2 * Rig::step_ns);
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    rig.pass(2 * Rig::step_ns);
    EXPECT_EQ(rig.value(boards_silenced), 1U);
    EXPECT_EQ(rig.value(events_incomplete), 1U);
}

/// A board that floods is never read to its end, only to what was sent a while ago. That holds up no event longer than
/// by that while, and other boards' silence not at all.
TEST(MergerSilence, AFloodHoldsUpNothingLongerThanItsQueue) {
    for (const std::uint32_t flooding : {1U, 2U}) {
        Rig rig;
        const Nanoseconds behind_ns = 4 * rig.config.timeout_ns;
        const Nanoseconds begun_ns = rig.clock.monotonic_ns();
        rig.source.read_until[flooding] = begun_ns;
        rig.go_on(1);
        const Nanoseconds expected_ns = rig.config.timeout_ns + (flooding == 2 ? behind_ns : 0);
        for (Nanoseconds passed_ns = 2 * Rig::step_ns; passed_ns <= expected_ns; passed_ns += Rig::step_ns) {
            EXPECT_EQ(rig.value(boards_silenced), 0U) << passed_ns;
            rig.clock.advance(Rig::step_ns);
            rig.source.read_until[flooding] = std::max(begun_ns, rig.clock.monotonic_ns() - behind_ns);
            rig.work();
        }
        EXPECT_EQ(rig.value(boards_silenced), 1U);
        EXPECT_EQ(rig.value(events_incomplete), 1U);
    }
}

/// One board is in the next burst already, and all queues are full of fragments that are not merged yet.
TEST(MergerSilence, FullQueuesThatOnlyWaitToBeJoinedLoseNothing) {
    MergerRig rig({.n_boards = 3, .batch = {.max_events = 1}, .blocks_per_board = 2});
    const Fragments one{{.timestamp_ticks = 10}, {.timestamp_ticks = 20}},
        other{{.timestamp_ticks = 30}, {.timestamp_ticks = 40}};
    for (std::uint32_t board = 0; board < 2; ++board) {
        rig.source.give(board, one);
        rig.source.give(board, other);
    }
    rig.source.give(2, {one[0], one[1], other[0], other[1]}, 1, receive::CloseReason::end_of_burst);
    rig.source.give(2, one, 2);
    rig.work();
    for (std::uint32_t board = 0; board < 2; ++board) {
        rig.source.end(board, 1);
        rig.source.give(board, one, 2);
    }
    rig.work();
    EXPECT_TRUE(rig.finish());
    EXPECT_EQ(rig.value(events_complete), 6U);
    EXPECT_EQ(rig.value(fragments_late), 0U);
    rig.expect_balance();
}

/// A board has lost a whole burst, its queue is full of the next one, those of the others are full because they wait
/// for it: nothing that is waited for can come, and what it has of the next burst is wanted.
TEST(MergerSilence, WhoHasOnlyTheNextBurstIsNotWaitedForWhereAllQueuesAreFull) {
    MergerRig rig({.n_boards = 3, .batch = {.max_events = 1}, .blocks_per_board = 2});
    const Fragments one{{.timestamp_ticks = 10}}, other{{.timestamp_ticks = 30}};
    for (std::uint32_t board = 0; board < 3; ++board) {
        rig.source.give(board, one, board == 2 ? 2 : 1);
        rig.source.give(board, other, board == 2 ? 2 : 1);
    }
    rig.work();
    EXPECT_EQ(rig.value(events_incomplete), 2U) << "without the time-out";
    for (std::uint32_t board = 0; board < 2; ++board) {
        rig.source.end(board, 1);
        rig.source.give(board, one, 2);
        rig.source.give(board, other, 2);
    }
    rig.work();
    EXPECT_EQ(rig.value(events_complete), 2U);
    EXPECT_EQ(rig.value(fragments_late), 0U);
    EXPECT_TRUE(rig.finish());
    rig.expect_balance();
}

/// Half of the boards have ended the burst, and another board's fragments of it are not read yet.
TEST(MergerSilence, ABurstIsNotOverWhileItsDataLieUnread) {
    Rig rig;
    rig.give(2, 1);
    rig.go_on(1);
    rig.source.read_until[2] = rig.clock.monotonic_ns();
    for (std::uint32_t board = 0; board < 2; ++board) {
        rig.source.end(board, 1);
        rig.source.give(board, Fragments{{40'000}}, 2);
    }
    for (int i = 0; i < 5; ++i) rig.pass(rig.config.timeout_ns);
    EXPECT_EQ(rig.value(bursts_out), 0U);
    rig.source.end(2, 1);
    rig.source.give(2, Fragments{{40'000}}, 2);
    rig.source.read_until[2].reset();
    rig.work();
    EXPECT_EQ(rig.value(bursts_out), 1U);
    rig.expect_all_complete(2);
}

}  // namespace
}  // namespace anello::events::test::merger_silence_test

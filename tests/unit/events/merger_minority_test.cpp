// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "unit/events/merger_rig.hpp"

/// Times and bursts that fewer than half of the boards send change nothing for the others.
namespace anello::events::test::merger_minority_test {
namespace {

using Fragments = std::vector<TestFragment>;
constexpr std::uint32_t far_off = 1'000'000'000;  // 25 s

MergerConfig four_boards() {
    MergerConfig config;
    config.n_boards = 4;
    config.window_ticks = 2;
    return config;
}

Fragments twenty_at(std::uint32_t ticks) {
    Fragments fragments;
    for (std::uint32_t i = 0; i < 20; ++i) fragments.push_back({ticks + 100 * i, 0, {1, 2}});
    return fragments;
}

/// Events of all boards from a tick on; returns how many.
std::uint32_t give_events(MergerRig& rig, std::uint32_t first_ticks, std::uint32_t n_events = 50) {
    for (std::uint32_t board = 0; board < 4; ++board)
        for (std::uint32_t i = 0; i < n_events; i += 10) {
            Fragments block;
            for (std::uint32_t k = i; k < i + 10; ++k) block.push_back({first_ticks + 40 * k, 0, {7}});
            rig.source.give(board, block);
        }
    rig.work();
    return n_events;
}

void end_burst(MergerRig& rig) {
    for (std::uint32_t board = 0; board < 4; ++board) rig.source.end(board);
    rig.work();
    ASSERT_TRUE(rig.finish());
    rig.expect_balance();
}

TEST(MergerMinority, FarTimesBeforeTheStartCostOnlyThemselves) {
    for (const std::uint32_t ticks : {far_off, 0x7ffffff0U, 0x80000010U, 0xf0000000U}) {
        MergerRig rig(four_boards());
        rig.source.give(2, twenty_at(ticks));
        for (int i = 0; i < 10; ++i) {
            rig.work();
            rig.pass(rig.config.timeout_ns);
        }
        EXPECT_EQ(rig.events.size(), 0U);
        const std::uint32_t n_events = give_events(rig, 5);
        EXPECT_EQ(rig.value(BuildCounter::events_complete), n_events) << ticks;
        end_burst(rig);
        EXPECT_EQ(rig.value(BuildCounter::fragments_late) + rig.value(BuildCounter::fragments_ahead) +
                      rig.value(BuildCounter::events_incomplete),
                  20U);
    }
}

TEST(MergerMinority, FarTimesAmongOthersCostOnlyThemselves) {
    MergerRig rig(four_boards());
    std::uint32_t n_events = give_events(rig, 0);
    Fragments mixed{{2000, 0, {7}}, {2040, 0, {7}}};
    for (const TestFragment& fragment : twenty_at(far_off)) mixed.push_back(fragment);
    mixed.push_back({2080, 0, {7}});
    for (std::uint32_t board = 0; board < 4; ++board)
        rig.source.give(board, board == 1 ? mixed : Fragments{{2000, 0, {7}}, {2040, 0, {7}}, {2080, 0, {7}}});
    rig.work();
    n_events += 3;
    for (std::uint32_t round = 1; round < 5; ++round) n_events += give_events(rig, 4000 * round);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), n_events);
    EXPECT_EQ(rig.value(BuildCounter::boards_silenced), 0U);
    end_burst(rig);
    EXPECT_EQ(rig.value(BuildCounter::fragments_ahead), 20U);
    EXPECT_EQ(rig.merger.board_counters(1)[BoardCounter::fragments_ahead], 20U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
    EXPECT_EQ(rig.events.size(), n_events);
}

TEST(MergerMinority, FarTimesInAPauseCostOnlyThemselves) {
    MergerRig rig(four_boards());
    std::uint32_t n_events = give_events(rig, 0);
    rig.source.give(3, twenty_at(far_off));
    for (int i = 0; i < 10; ++i) {
        rig.work();
        rig.pass(rig.config.timeout_ns);
    }
    n_events += give_events(rig, 4000);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), n_events);
    end_burst(rig);
    EXPECT_EQ(rig.value(BuildCounter::fragments_ahead), 20U);
}

/// Board 3 has ended its burst, so the merger does not wait for it; its head is near when the others reach 400,000.
TEST(MergerMinority, AHeadInDoubtIsLookedAtBeforeEachEventWhateverTheBatch) {
    for (const std::uint32_t max_events : {1U, 2U, 1024U}) {
        MergerConfig config = four_boards();
        config.batch.max_events = max_events;
        MergerRig rig(config);
        for (std::uint32_t board = 0; board < 3; ++board)
            rig.source.give(board,
                            {{100, 0, {1}}, {200, 0, {1}}, {400'000, 0, {1}}, {800'000, 0, {1}}, {1'000'000, 0, {1}}});
        rig.source.give(3, {{100, 0, {1}}, {1'000'000, 0, {1}}});
        rig.source.end(3);
        rig.work();
        EXPECT_EQ(rig.value(BuildCounter::events_built), 5U) << max_events;
        EXPECT_EQ(rig.value(BuildCounter::events_complete), 2U) << max_events;
        EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U) << max_events;
        end_burst(rig);
    }
}

/// Half of the boards have jumped to `after`, another to `before`: its event, which goes first, moves time back.
TEST(MergerMinority, AHeadThatIsTrustedStaysSo) {
    constexpr std::uint32_t before = far_off, after = 2 * far_off;
    MergerConfig config = four_boards();
    config.batch.max_events = 1;
    MergerRig rig(config);
    const std::uint32_t n_events = give_events(rig, 0);
    rig.source.give(1, {{after, 0, {1}}});
    rig.source.give(2, {{after + 1, 0, {1}}});
    rig.source.give(3, {{before, 0, {1}}});
    for (const std::uint32_t board : {0U, 2U, 3U}) rig.source.end(board);
    for (int i = 0; i < 10 && rig.value(BuildCounter::events_built) == n_events; ++i) {
        rig.merger.do_work();
        rig.read_batches();
    }
    ASSERT_EQ(rig.value(BuildCounter::events_built), n_events + 1);
    rig.source.give(2, {{after + 100, 0, {1}}});
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_built), n_events + 2);
    EXPECT_EQ(rig.value(BuildCounter::fragments_merged), 4 * n_events + 3);
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
    end_burst(rig);
}

/// Board 3's clock is ahead of the others' by less than the time-out, by more, and by much more: its fragments wait for
/// theirs, and are not waited for. When theirs come, one board after another, each head of board 3 is old.
TEST(MergerMinority, AClockThatIsAheadCostsOnlyItsOwnBoard) {
    for (const std::uint32_t ahead_ms : {2U, 22U, 30U, 50U, 150U}) {
        MergerRig rig(four_boards());
        constexpr std::uint32_t ticks_per_ms = 40'000, n_events = 400;
        for (std::uint32_t event = 1; event <= n_events; ++event) {
            for (std::uint32_t board = 0; board < 4; ++board) {
                const std::uint32_t wrong_ms = board == 3 && event > 20 ? ahead_ms : 0;
                rig.source.give(board, {{ticks_per_ms * (event + wrong_ms) + (wrong_ms > 0 ? 20'000 : 0), 0, {1}}});
                rig.work();
            }
            rig.pass(1'000'000);
        }
        end_burst(rig);
        for (std::uint32_t board = 0; board < 3; ++board) {
            const auto of_board = [&](BoardCounter counter) { return rig.merger.board_counters(board)[counter]; };
            EXPECT_EQ(of_board(BoardCounter::fragments_late), 0U) << ahead_ms;
            EXPECT_EQ(of_board(BoardCounter::silences), 0U) << ahead_ms;
        }
    }
}

TEST(MergerMinority, AJumpOfHalfOfTheBoardsIsFollowed) {
    MergerRig rig(four_boards());
    give_events(rig, 0);
    for (const std::uint32_t board : {1U, 3U}) rig.source.give(board, twenty_at(far_off));
    rig.work();
    rig.pass(rig.config.timeout_ns + 1);  // the others are waited for
    rig.work();
    rig.pass(rig.config.timeout_ns + 1);
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_incomplete), 20U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_ahead), 0U);
    end_burst(rig);
}

TEST(MergerMinority, AJumpOfAllBoardsIsFollowedAtOnce) {
    MergerRig rig(four_boards());
    give_events(rig, 0);
    const std::uint32_t n_events = give_events(rig, far_off);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 50U + n_events);
    end_burst(rig);
}

/// Events so rare that each is a jump, and the end of the burst is there with them.
TEST(MergerMinority, AllJumpsBeforeTheEndOfABurstAreFollowed) {
    MergerRig rig(four_boards());
    for (std::uint32_t board = 0; board < 4; ++board) {
        rig.source.give(board, Fragments{{far_off}, {far_off + far_off / 2}, {2 * far_off}, {2 * far_off + 90}});
        rig.source.end(board);
    }
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 4U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_ahead), 0U);
    ASSERT_TRUE(rig.finish());
    rig.expect_balance();
}

TEST(MergerMinority, AnotherBurstOfOneBoardNeitherBeginsNorEndsAnything) {
    MergerRig rig(four_boards());
    for (std::uint32_t burst = 100; burst < 110; ++burst) {
        rig.source.give(0, twenty_at(0), burst);
        rig.work();
        rig.pass(rig.config.timeout_ns);
    }
    std::uint32_t n_events = give_events(rig, 0);
    rig.source.give(0, twenty_at(0), 77);
    for (int i = 0; i < 5; ++i) {
        rig.work();
        rig.pass(rig.config.timeout_ns);
    }
    n_events += give_events(rig, 4000);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), n_events);
    EXPECT_EQ(rig.value(BuildCounter::bursts_out), 0U);
    end_burst(rig);
    EXPECT_EQ(rig.events.size(), n_events);
}

TEST(MergerMinority, AnEndThatOneBoardTellsEndsNothingInAPause) {
    MergerRig rig(four_boards());
    std::uint32_t n_events = give_events(rig, 0);
    rig.source.end(2);
    for (int i = 0; i < 10; ++i) {
        rig.work();
        rig.pass(rig.config.timeout_ns);
    }
    n_events += give_events(rig, 4000);
    EXPECT_EQ(rig.value(BuildCounter::bursts_out), 0U);
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), n_events);
    end_burst(rig);
}

TEST(MergerMinority, ABoardThatKeepsToAnOldBurstIsLeftBehind) {
    MergerRig rig(four_boards());
    give_events(rig, 0);
    for (std::uint32_t board = 0; board < 3; ++board) {
        rig.source.end(board);
        rig.source.give(board, twenty_at(0), 2);
    }
    std::uint32_t ticks = 4000;
    for (int i = 0; i < 10; ++i) {
        rig.source.give(3, {{ticks += 10, 0, {1}}});
        rig.work();
        rig.pass(rig.config.timeout_ns / 2);
    }
    EXPECT_EQ(rig.value(BuildCounter::bursts_out), 1U);
    ASSERT_TRUE(rig.finish());
    rig.expect_balance();
}

TEST(MergerMinority, BlocksNobodyFollowsMakeRoom) {
    MergerConfig config = four_boards();
    config.blocks_per_board = 4;
    MergerRig rig(config);
    std::uint32_t n_events = 0;
    for (std::uint32_t round = 0; round < 20; ++round) {
        rig.source.give(1, twenty_at(far_off + 5000 * round), round % 2 == 0 ? 1 : 50 + round);
        n_events += give_events(rig, 4000 * round, 10);
        rig.pass(rig.config.timeout_ns + 1);
        rig.work();
        rig.work();
    }
    end_burst(rig);
    EXPECT_GE(rig.value(BuildCounter::events_complete), n_events * 3 / 4);
    EXPECT_EQ(rig.value(BuildCounter::events_complete) + rig.merger.board_counters(1)[BoardCounter::missing], n_events);
}

/// The last event is at 100 and lacks board 1; its window reaches to 102, and so does being late.
TEST(MergerMinority, LateEndsWithTheWindow) {
    MergerRig rig(four_boards());
    for (const std::uint32_t board : {0U, 2U, 3U}) rig.source.give(board, {{100, 0, {1}}, {200, 0, {1}}});
    rig.work();
    rig.pass(rig.config.timeout_ns + 1);
    rig.work();
    rig.pass(rig.config.timeout_ns + 1);
    rig.work();
    ASSERT_EQ(rig.value(BuildCounter::events_incomplete), 2U);
    rig.source.give(1, {{200, 0, {1}}, {201, 0, {1}}, {202, 0, {1}}, {203, 0, {1}}});
    for (const std::uint32_t board : {0U, 2U, 3U}) rig.source.give(board, {{203, 0, {1}}});
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 3U);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 1U);
    end_burst(rig);
}

}  // namespace
}  // namespace anello::events::test::merger_minority_test

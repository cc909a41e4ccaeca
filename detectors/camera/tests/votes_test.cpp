// SPDX-License-Identifier: Apache-2.0
#include "camera/events/boards/votes.hpp"

#include <gmock/gmock.h>

#include <set>

#include "camera/tests/rig.hpp"

/// Run, event number and time follow most boards. What fewer than half say costs nobody else anything.
namespace anello::camera::votes_test {
namespace {

using test::Bytes;
using test::CameraRig;
using test::small_camera;
using test::TakenPart;
using test::TestBoard;
using testing::ElementsAre;
using enum CameraBuildCounter;

constexpr std::uint32_t far = 1'000'000;

/// In all events so far these boards' fragments are there.
void expect_all_of(const CameraRig& rig, std::uint32_t n_events, const std::set<std::uint32_t>& boards) {
    std::uint32_t number = 0;
    for (const TakenPart& taken : rig.parts) {
        if (taken.part.end_of_run) continue;
        EXPECT_EQ(taken.part.event_number, number++);
        EXPECT_EQ(taken.part.run_id, 1U);
        for (const std::uint32_t board : boards)
            EXPECT_TRUE(taken.present.contains(board)) << "event " << taken.part.event_number << " board " << board;
    }
    EXPECT_EQ(number, n_events);
}

TEST(CameraVotes, WhoIsSilentHasNoVote) {
    CameraVotes votes(4, 2, 8);
    EXPECT_EQ(votes.count({1, 0}, 1).n_voters, 0U) << "nobody is received";
    for (std::uint32_t board = 0; board < 4; ++board) votes.enrol(board, board / 2);
    EXPECT_EQ(votes.count({1, 0}, 1).n_voters, 4U);
    EXPECT_EQ(votes.count({1, 0}, 1).n_for, 0U);
    votes.set_position(0, {1, 100});
    votes.set_vote(0, BoardVote::in_step);
    votes.claim(1, {1, 105}, 10);
    votes.claim(2, {1, 107}, 20);
    votes.claim(3, {2, 107}, 0);
    EXPECT_EQ(votes.count({1, 107}, 1).n_for, 3U);
    EXPECT_EQ(votes.count({1, 108}, 1).n_for, 2U) << "a window lies between 100 and 108";
    EXPECT_EQ(votes.count({1, 107}, 1, {.lasts_ns = 20}).n_for, 2U) << "who is there need not have said so for long";
    EXPECT_EQ(votes.count({1, 107}, 0).n_for, 2U) << "the first group's own is elsewhere by its own account";
    EXPECT_FALSE(votes.count({1, 108}, 1).is_majority());
    EXPECT_EQ(votes.n_voters(), 4U);
    votes.set_vote(3, BoardVote::silent);
    EXPECT_EQ(votes.n_voters(), 3U);
    EXPECT_TRUE(votes.count({1, 108}, 1).is_majority());
    EXPECT_EQ(votes.n_in_step(0), 1U);
    EXPECT_EQ(votes.n_in_step(1), 0U);
    votes.set_vote(2, BoardVote::in_step);
    votes.set_position(1, {1, 107});
    EXPECT_EQ(votes.n_in_step(0), 2U);
    votes.set_position(1, {1, 108});
    EXPECT_EQ(votes.n_in_step(0), 1U) << "the other group is a window away";
}

TEST(CameraVotes, ABoardThatRebootsEndsNoRun) {
    CameraRig rig(small_camera());
    TestBoard rebooted(3, 9);
    for (std::uint32_t event = 0; event < 400; ++event) {
        rig.place_event(event, event < 200 ? std::vector<std::uint32_t>{} : std::vector{3U});
        if (event == 200) rig.place(rebooted.start());
        if (event >= 200) rig.place(rebooted.data(event - 200));
        rig.advance_ms(1);
    }
    EXPECT_TRUE(rig.builder.status(3).is_outvoted);
    EXPECT_EQ(rig.builder.status(3).claim.run_id, 9U);
    EXPECT_FALSE(rig.builder.status(0).is_outvoted);
    EXPECT_EQ(rig.builder.status(3).state, events::BoardState::silent);
    rig.finish();
    EXPECT_EQ(rig.value(runs_begun), 1U);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::other_run), 200U);
    expect_all_of(rig, 400, {0, 1, 2});
    test::expect_sums(rig.builder);
}

/// It is the first to speak, and what it said then became no event: should that run come, it was not lost on the way.
TEST(CameraVotes, WhatABoardSaidOfARunTooEarlyIsNotLost) {
    CameraRig rig(small_camera());
    TestBoard early(3, 2);
    for (std::uint32_t event = 0; event < 3; ++event) rig.place(early.data(event));
    for (std::uint32_t event = 0; event < 20; ++event) {
        rig.place_event(event, {3});
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(3, CameraBoardCounter::other_run), 3U);
    for (std::uint32_t board = 0; board < 3; ++board) rig.place(rig.boards[board].end());
    for (std::uint32_t board = 0; board < 3; ++board) {
        rig.boards[board].begin_run(2);
        rig.place(rig.boards[board].start());
    }
    for (std::uint32_t event = 0; event < 20; ++event) {
        if (event >= 3) rig.place(early.data(event));
        rig.place_event(event, {3});
        rig.advance_ms(1);
    }
    for (std::uint32_t board = 0; board < 3; ++board) rig.place(rig.boards[board].end());
    rig.place(early.end());
    rig.finish();
    EXPECT_EQ(rig.last().part.run_id, 2U);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::placed), 17U);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::lost), 0U);
    for (std::uint32_t board = 0; board < 4; ++board) test::expect_board_sum(rig.builder, board);
    test::expect_sums(rig.builder);
}

/// Another run of the same number, so much later that the first is forgotten.
TEST(CameraVotes, WhatWasAheadInARunExcusesNoLossOfALaterRun) {
    CameraRig rig(small_camera());
    rig.place(rig.boards[0].data(far));
    for (const std::uint32_t board : {1U, 2U, 3U}) rig.place(rig.boards[board].data(0));
    EXPECT_EQ(rig.value(fragments_ahead), 1U);
    const auto begin_run = [&](std::uint32_t run_id) {
        for (TestBoard& board : rig.boards) board.begin_run(run_id);
        for (const TestBoard& board : rig.boards) rig.place(board.start());
        rig.place_event(0);
        rig.take_all();
    };
    for (std::uint32_t run_id = 2; run_id < 12; ++run_id) begin_run(run_id);
    begin_run(1);
    EXPECT_EQ(rig.value(runs_begun), 12U);
    rig.boards[0].lose(1);
    rig.place_event(1, {0});
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    EXPECT_EQ(rig.value(0, CameraBoardCounter::lost), 1U);
}

TEST(CameraVotes, FewBoardsFarAheadMoveNothing) {
    CameraRig rig(small_camera(5));
    for (std::uint32_t event = 0; event < 400; ++event) {
        rig.place_event(event, event < 200 ? std::vector<std::uint32_t>{} : std::vector{1U, 3U});
        for (const std::uint32_t board : {1U, 3U})
            if (event >= 200) rig.place(rig.boards[board].data(event + far));
        rig.advance_ms(1);
    }
    rig.finish();
    EXPECT_EQ(rig.value(windows_moved), 0U);
    EXPECT_EQ(rig.value(fragments_ahead), 400U);
    expect_all_of(rig, 400, {0, 2, 4});
    test::expect_sums(rig.builder);
}

/// Nothing more needs to come for that.
TEST(CameraVotes, WhatWasHeldIsUsedWhenThereIsRoomForIt) {
    auto config = small_camera();
    config.n_events = 16;
    config.full_policy = receive::FullPolicy::wait;
    CameraRig rig(config);
    rig.hold = true;
    for (std::uint32_t event = 0; event < config.n_events; ++event) rig.place_event(event);
    rig.take_all();
    EXPECT_EQ(rig.held.size(), config.n_events) << "no buffer is free";
    rig.place_event(far, {3});
    rig.work();
    EXPECT_EQ(rig.value(windows_moved), 1U);
    EXPECT_EQ(rig.value(fragments_placed), 4 * config.n_events);
    rig.give_back_held();
    rig.work();
    EXPECT_EQ(rig.value(fragments_placed), 4 * config.n_events + 3);
    rig.place(rig.boards[3].data(far));
    rig.take_all();
    ASSERT_EQ(rig.held.size(), 1U);
    EXPECT_EQ(rig.last().part.event_number, far);
    EXPECT_EQ(rig.last().part.n_present, 4U);
    EXPECT_EQ(rig.value(fragments_dropped), 0U);
    rig.give_back_held();
    rig.finish();
    test::expect_sums(rig.builder);
}

/// In steps of less than a window at a time.
TEST(CameraVotes, FewBoardsCannotWalkAwayWithTheWindow) {
    CameraRig rig(small_camera(5));
    for (std::uint32_t event = 0; event < 100; ++event) {
        rig.place_event(event, {1, 3});
        for (const std::uint32_t board : {1U, 3U}) rig.place(rig.boards[board].data(5 * event));
        rig.advance_ms(1);
    }
    rig.finish();
    expect_all_of(rig, 100, {0, 2, 4});
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, AFragmentAheadOfTimeMakesNobodyLate) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    for (std::uint32_t event = 1; event < 50; ++event) {
        for (std::uint32_t ms = 0; ms < 30; ++ms) rig.advance_ms(1);
        rig.place(TestBoard(3).data(event + 5));  // well before the others have come so far
        for (std::uint32_t ms = 0; ms < 30; ++ms) rig.advance_ms(1);
        rig.place_event(event, {3});
    }
    EXPECT_EQ(rig.value(fragments_late), 0U);
    rig.finish();
    for (const TakenPart& taken : rig.parts)
        EXPECT_GE(taken.part.n_present, taken.part.end_of_run || taken.part.event_number >= 50 ? 0 : 3);
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, TheDeadMajorityIsNotWaitedForForEver) {
    CameraRig rig(small_camera(5));
    for (std::uint32_t event = 0; event < 20; ++event) {
        rig.place_event(event);
        rig.advance_ms(1);
    }
    rig.place_event(20, {0, 1, 2});
    for (int ms = 0; ms < 2200; ++ms) rig.advance_ms(1);
    EXPECT_EQ(rig.last().part.event_number, 20U);
    for (std::uint32_t event = 21; event < 50; ++event) {
        rig.place_event(event, {0, 1, 2});
        rig.advance_ms(1);
        EXPECT_EQ(rig.last().part.event_number, event) << "the two boards that are left continue";
    }
    rig.place_event(50);
    rig.place_event(51);
    rig.advance_ms(1);
    EXPECT_EQ(rig.last().part.end, EventEnd::complete) << "and the others come back";
    rig.finish();
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, TheBuilderFollowsMostBoardsAndStepsBackWithThem) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 10; ++event) rig.place_event(event);
    for (std::uint32_t event = far; event < far + 10; ++event) rig.place_event(event, {2});
    EXPECT_EQ(rig.value(windows_moved), 1U);
    for (std::uint32_t event = 10; event < 60; ++event) {
        rig.place_event(event);
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(windows_moved), 2U);
    rig.take_all();
    EXPECT_EQ(rig.last().part.event_number, 59U);
    EXPECT_EQ(rig.last().part.end, EventEnd::complete);
    EXPECT_EQ(rig.last().part.turn, 1U);
    EXPECT_GE(rig.value(events_complete), 10U + 25U) << "late for a timeout, until it is no accident";
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    for (std::uint32_t board = 0; board < 4; ++board) test::expect_board_sum(rig.builder, board);
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, AJumpAcrossTheWrapOfNumbers) {
    CameraRig rig(small_camera());
    rig.place_event(0xfffffff0U);
    rig.place_event(16);
    rig.place_event(17);
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0xfffffff0U, 16, 17));
    EXPECT_EQ(rig.value(events_complete), 3U);
}

TEST(CameraVotes, AFalseFirstRunIsTakenBack) {
    CameraRig rig(small_camera());
    TestBoard wrong(2, 9);
    for (std::uint32_t event = 50; event < 53; ++event) rig.place(wrong.data(event));
    for (std::uint32_t event = 0; event < 10; ++event) rig.place_event(event, {2});
    rig.advance_ms(25);
    rig.finish();
    expect_all_of(rig, 10, {0, 1, 3});
    EXPECT_EQ(rig.value(2, CameraBoardCounter::other_run), 3U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::placed), 0U);
    std::size_t n_ends = 0;
    for (const TakenPart& taken : rig.parts) n_ends += taken.part.end_of_run ? 1 : 0;
    EXPECT_EQ(n_ends, 1U) << "of the run that was";
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, AFalseFirstRunThatWentOutEndsAsOne) {
    CameraRig rig(small_camera());
    TestBoard wrong(2, 9);
    rig.place(wrong.data(50));
    for (int ms = 0; ms < 2000; ++ms) rig.advance_ms(1);
    ASSERT_EQ(rig.parts.size(), 1U) << "nobody else spoke";
    for (std::uint32_t event = 0; event < 10; ++event) rig.place_event(event, {2});
    rig.finish();
    ASSERT_EQ(rig.parts.size(), 13U);
    EXPECT_TRUE(rig.parts[1].part.end_of_run);
    EXPECT_TRUE(rig.parts[1].part.is_outvoted);
    EXPECT_FALSE(rig.last().part.is_outvoted);
    for (std::size_t i = 2; i < 12; ++i) EXPECT_EQ(rig.parts[i].part.n_present, 3U);
}

TEST(CameraVotes, AFalseFirstEventNumberIsTakenBack) {
    CameraRig rig(small_camera());
    rig.place(TestBoard(2).data(far));
    for (std::uint32_t event = 0; event < 10; ++event) rig.place_event(event, {2});
    rig.advance_ms(25);
    rig.finish();
    expect_all_of(rig, 10, {0, 1, 3});
    EXPECT_EQ(rig.value(2, CameraBoardCounter::ahead), 1U);
    test::expect_sums(rig.builder);
}

/// Who was in step before the window moved has not agreed to where it is now: two of five do not make events.
TEST(CameraVotes, WhoWasInStepIsNotSoAfterAMove) {
    CameraRig rig(small_camera(5));
    rig.place(rig.boards[0].data(0));
    for (const std::uint32_t board : {1U, 2U}) rig.place(TestBoard(static_cast<std::uint16_t>(board)).data(far));
    EXPECT_EQ(rig.value(windows_moved), 1U);
    for (std::uint32_t event = 0; event < 10; ++event) rig.place_event(event + 2 * far, {1, 2});
    EXPECT_EQ(rig.value(windows_moved), 2U);
    rig.advance_ms(25);
    rig.finish();
    EXPECT_EQ(rig.event_numbers().front(), 2 * far);
    for (const std::uint32_t board : {0U, 1U, 2U}) EXPECT_EQ(rig.value(board, CameraBoardCounter::ahead), 1U) << board;
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, HalfOfTheBoardsAreDeadAndARunBeginsAllTheSame) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 20; ++event) {
        rig.place_event(event);
        rig.advance_ms(1);
    }
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    for (TestBoard& board : rig.boards) board.begin_run(2);
    std::uint32_t event = 0;
    for (; event < 500 && rig.value(runs_begun) == 1; ++event) {
        rig.place_event(event, {0, 1});
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(runs_begun), 2U);
    for (std::uint32_t i = 0; i < 20; ++i) {
        rig.place_event(event + i, {0, 1});
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.last().part.event_number, event + 19);
    EXPECT_EQ(rig.last().part.n_present, 2U);
    rig.finish();
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, OfTwoBoardsNobodyCanSayWhoIsRight) {
    CameraRig rig(small_camera(2));
    for (std::uint32_t event = 0; event < 20; ++event) {
        rig.place_event(event);
        rig.advance_ms(1);
    }
    TestBoard other(1, 9);
    for (std::uint32_t event = 20; event < 40; ++event) {
        rig.place_event(event, {1});
        rig.place(other.data(event));
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(runs_begun), 1U) << "the run continues unchanged";
    for (std::uint32_t event = 40; event < 200; ++event) {
        rig.place(other.data(event));
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(runs_begun), 2U) << "until only one speaks";
    rig.finish();
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, OfThreeBoardsTwoDecide) {
    CameraRig rig(small_camera(3));
    rig.place_event(0);
    for (TestBoard& board : rig.boards) board.begin_run(2);
    rig.place(rig.boards[1].start());
    EXPECT_EQ(rig.value(runs_begun), 1U);
    rig.place(rig.boards[2].start());
    EXPECT_EQ(rig.value(runs_begun), 2U);
}

TEST(CameraVotes, EndMarkersOfFewEndNothing) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    rig.place(rig.boards[3].end());
    for (std::uint32_t event = 1; event < 100; ++event) {
        rig.place_event(event, {3});
        rig.advance_ms(1);
    }
    rig.advance_ms(100);
    expect_all_of(rig, 100, {0, 1, 2});
    EXPECT_FALSE(rig.last().part.end_of_run);
}

TEST(CameraVotes, ARunThatIsOverBeginsAgainOnlyIfMostBoardsKeepSayingSo) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 10; ++event) rig.place_event(event);
    std::vector<TestBoard> old_boards = rig.boards;
    for (TestBoard& board : rig.boards) board.begin_run(2);
    for (const TestBoard& board : rig.boards) rig.place(board.start());
    for (std::uint32_t event = 0; event < 40; ++event) {  // one of them would not stop
        rig.place(old_boards[0].data(10 + event));
        for (std::uint32_t i = 1; i < 4; ++i) rig.place(rig.boards[i].data(event));
        rig.advance_ms(1);
    }
    for (TestBoard& board : old_boards) rig.place(board.data(60));  // late ones of all
    rig.place_event(40);
    rig.advance_ms(30);
    EXPECT_EQ(rig.value(runs_begun), 2U);
    for (std::uint32_t event = 100; event < 150; ++event) {
        for (TestBoard& board : old_boards) rig.place(board.data(event));
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(runs_begun), 3U);
    EXPECT_EQ(rig.last().part.run_id, 1U);
    EXPECT_EQ(rig.last().part.event_number, 149U);
    rig.finish();
    test::expect_sums(rig.builder);
}

TEST(CameraVotes, AnEventsTimeIsThatOfMostBoards) {
    CameraRig rig(small_camera(5));
    TestBoard first(0);
    first.set_clock_ahead(far);
    TestBoard third(2);
    third.set_clock_ahead(2 * far);
    rig.place(first.data(7));
    rig.place(rig.boards[1].data(7));
    rig.place(third.data(7));
    for (const std::uint32_t board : {3U, 4U}) rig.place(rig.boards[board].data(7));
    rig.take_all();
    EXPECT_EQ(rig.last().part.timestamp_ns, 7000U);
    EXPECT_EQ(rig.last().part.timestamp_votes, 1);
}

TEST(CameraVotes, AnEventsTagIsThatOfMostBoards) {
    CameraRig rig(small_camera(5));
    for (const std::uint32_t board : {1U, 3U, 4U}) rig.boards[board].set_trigger_tag(wire::camera::tag_pedestal);
    rig.boards[0].set_trigger_tag(wire::camera::tag_calibration);
    rig.boards[2].set_trigger_tag(0);
    rig.place_event(7);
    rig.take_all();
    EXPECT_EQ(rig.last().part.trigger_tag, wire::camera::tag_pedestal);
    EXPECT_EQ(rig.last().part.tag_votes, 1);
    for (TestBoard& board : rig.boards) board.set_trigger_tag(wire::camera::tag_stereo);
    rig.boards[0].set_trigger_tag(wire::camera::tag_calibration);
    rig.place_event(8);
    rig.take_all();
    EXPECT_EQ(rig.last().part.trigger_tag, wire::camera::tag_stereo) << "not that of the event before, nor the first";
}

}  // namespace
}  // namespace anello::camera::votes_test

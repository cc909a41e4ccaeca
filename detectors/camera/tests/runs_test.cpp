// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "camera/tests/rig.hpp"

/// Runs: how they begin and end, and the outcome of fragments that belong to none.
namespace anello::camera::runs_test {
namespace {

using test::Bytes;
using test::CameraRig;
using test::small_camera;
using test::TestBoard;
using testing::ElementsAre;
using enum CameraBuildCounter;

TEST(CameraRuns, AStartMarkerBeginsARunAtItsFirstEvent) {
    CameraRig rig(small_camera());
    for (TestBoard& board : rig.boards) board.set_first_event(100);
    for (const TestBoard& board : rig.boards) rig.place(board.start());
    EXPECT_EQ(rig.value(runs_begun), 1U);
    EXPECT_EQ(rig.value(markers), 4U);
    rig.place_event(102);
    rig.place_event(100);
    rig.place_event(101);
    rig.take_all();
    EXPECT_EQ(rig.value(events_complete), 1U) << "event 102 went first, before the others had begun";
    test::expect_sums(rig.builder);
}

TEST(CameraRuns, EndMarkersEndTheRunWhenAllIsBuilt) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    rig.boards[1].lose(1);
    rig.place_event(1, {1});
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0)) << "the lost one may still come";
    EXPECT_EQ(rig.builder.status(1).state, events::BoardState::ended);
    rig.advance_ms(20);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0, 1));
    rig.advance_ms(20);
    ASSERT_TRUE(rig.last().part.end_of_run);
    EXPECT_EQ(rig.last().part.run_id, 1U);
    EXPECT_EQ(rig.value(1, CameraBoardCounter::lost), 1U);
    EXPECT_EQ(rig.value(1, CameraBoardCounter::announced), 2U);
    const std::size_t n_parts = rig.parts.size();
    rig.finish();
    rig.advance_ms(100);
    EXPECT_EQ(rig.parts.size(), n_parts) << "a run ends once";
    rig.place(rig.boards[0].data(2));
    EXPECT_EQ(rig.value(fragments_late), 1U);
    test::expect_sums(rig.builder);
}

/// As boards with a counter of 16 bits do: nothing is late for ever.
TEST(CameraRuns, GoOnWhereBoardsCountWithFewerBits) {
    CameraBuilderConfig config = small_camera();
    config.event_number_bits = 16;
    CameraRig rig(config);
    for (TestBoard& board : rig.boards) board.set_first_event(65'532);
    for (const TestBoard& board : rig.boards) rig.place(board.start());
    for (const std::uint32_t number : {65'532U, 65'533U}) rig.place_event(number);
    for (TestBoard& board : rig.boards)  // one is through with the wrap before another begins it
        for (const std::uint32_t number : {65'534U, 65'535U, 0U, 1U}) rig.place(board.data(number));
    for (std::uint32_t number = 2; number < 3 * 65'536; ++number) {
        rig.place_event(number % 65'536);
        rig.take_all();
    }
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.advance_ms(40);
    const std::vector<std::uint32_t> numbers = rig.event_numbers();
    for (std::size_t i = 1; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], numbers[i - 1] + 1);
    ASSERT_EQ(numbers.size(), 3U * 65'536 + 4);
    EXPECT_EQ(numbers.front(), 65'532U);
    EXPECT_EQ(numbers.back(), 4U * 65'536 - 1);
    EXPECT_EQ(rig.value(fragments_late) + rig.value(fragments_ahead), 0U);
    EXPECT_EQ(rig.value(events_complete), numbers.size());
    ASSERT_TRUE(rig.last().part.end_of_run);
    test::expect_sums(rig.builder);
}

TEST(CameraRuns, EndMarkersEndTheRunAtOnceWhenAllHasCome) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    for (std::size_t board = 1; board < rig.boards.size(); ++board) rig.place(rig.boards[board].end());
    rig.advance_ms(0);
    EXPECT_FALSE(rig.last().part.end_of_run) << "board 0 may send on";
    rig.place(rig.boards[0].end());
    rig.advance_ms(0);
    EXPECT_TRUE(rig.last().part.end_of_run);
}

TEST(CameraRuns, ABoardThatHasEndedIsNotWaitedFor) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    rig.place(rig.boards[3].end());
    rig.place_event(1, {3});
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0, 1));
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    rig.place_event(2);
    EXPECT_EQ(rig.builder.status(3).state, events::BoardState::live) << "it sends on though it said it would not";
}

TEST(CameraRuns, TheLossOfATailIsKnownByTheEndMarker) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 10; ++event) rig.place_event(event);
    for (std::uint32_t event = 10; event < 15; ++event) rig.boards[0].lose(event);
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    EXPECT_EQ(rig.value(0, CameraBoardCounter::lost), 5U);
    EXPECT_EQ(rig.value(0, CameraBoardCounter::announced), 15U);
    for (std::uint32_t board = 0; board < 4; ++board) test::expect_board_sum(rig.builder, board);
}

TEST(CameraRuns, WhatComesAfterTheRunIsOverIsShownAtTheEnd) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    const Bytes overtaken = rig.boards[1].data(1);
    rig.place_event(1, {1});
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    for (int i = 0; i < 8; ++i) rig.advance_ms(20);
    ASSERT_TRUE(rig.last().part.end_of_run);
    EXPECT_EQ(rig.value(1, CameraBoardCounter::lost), 1U);
    rig.place(overtaken);
    rig.finish();
    EXPECT_EQ(rig.value(1, CameraBoardCounter::lost), 0U);
    EXPECT_EQ(rig.value(1, CameraBoardCounter::late), 1U);
    test::expect_board_sum(rig.builder, 1);
}

TEST(CameraRuns, AnEndMarkerMayOvertakeFragmentsOfABoardThatSendsOn) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    std::vector<Bytes> overtaken;
    for (std::uint32_t event = 1; event < 4; ++event) overtaken.push_back(rig.boards[0].data(event));
    rig.place(rig.boards[0].end());
    for (const Bytes& datagram : overtaken) rig.place(datagram);
    for (std::uint32_t event = 4; event < 8; ++event) rig.place(rig.boards[0].data(event));
    rig.place(rig.boards[0].end());
    rig.finish();
    EXPECT_EQ(rig.value(0, CameraBoardCounter::placed), 8U);
    EXPECT_EQ(rig.value(0, CameraBoardCounter::lost), 0U);
    test::expect_board_sum(rig.builder, 0);
}

TEST(CameraRuns, StartMarkersOfMostBoardsBeginTheNextRun) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    rig.place(rig.boards[0].data(1));
    TestBoard straggler = rig.boards[1];
    for (TestBoard& board : rig.boards) board.begin_run(2);
    for (std::uint32_t i = 0; i < 2; ++i) rig.place(rig.boards[i].start());
    EXPECT_EQ(rig.value(runs_begun), 1U) << "half of the boards are not most";
    rig.place(rig.boards[2].start());
    EXPECT_EQ(rig.value(runs_begun), 2U);
    rig.place(straggler.data(1));
    EXPECT_EQ(rig.value(fragments_other_run), 1U);
    rig.place_event(0);
    rig.take_all();
    ASSERT_EQ(rig.parts.size(), 4U);
    EXPECT_EQ(rig.parts[1].part.end, EventEnd::run_ended);
    EXPECT_TRUE(rig.parts[2].part.end_of_run);
    EXPECT_EQ(rig.parts[3].part.run_id, 2U);
    EXPECT_EQ(rig.parts[3].part.end, EventEnd::complete);
    EXPECT_EQ(rig.value(events_run_ended), 1U);
    test::expect_sums(rig.builder);
}

TEST(CameraRuns, FragmentsOfMostBoardsBeginTheNextRun) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    for (TestBoard& board : rig.boards) board.begin_run(2);
    for (std::uint32_t event = 0; event < 3; ++event) rig.place(rig.boards[2].data(event));
    EXPECT_EQ(rig.value(runs_begun), 1U) << "one board may be wrong";
    for (std::uint32_t event = 0; event < 3; ++event) rig.place_event(event, {2});
    rig.place_event(3);
    EXPECT_EQ(rig.value(runs_begun), 2U);
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    EXPECT_EQ(rig.value(events_complete), 5U) << "what the first board sent before the others was held";
    EXPECT_EQ(rig.value(fragments_other_run), 0U);
    for (std::uint32_t board = 0; board < 4; ++board) test::expect_board_sum(rig.builder, board);
    test::expect_sums(rig.builder);
}

TEST(CameraRuns, ARunThatIsOverDoesNotBeginAgain) {
    CameraRig rig(small_camera());
    const Bytes start_of_first = rig.boards[0].start();
    rig.place_event(0);
    std::vector<TestBoard> old_boards = rig.boards;
    for (TestBoard& board : rig.boards) board.begin_run(2);
    for (const TestBoard& board : rig.boards) rig.place(board.start());
    rig.place(start_of_first);
    for (TestBoard& board : old_boards) rig.place(board.data(1));
    EXPECT_EQ(rig.value(fragments_other_run), 4U);
    EXPECT_EQ(rig.value(runs_begun), 2U);
    rig.place_event(0);
    EXPECT_EQ(rig.value(events_complete), 2U);
}

TEST(CameraRuns, ASilentBoardIsLiveAgainByItsMarker) {
    CameraRig rig(small_camera());
    rig.place_event(0, {3});
    rig.advance_ms(20);
    EXPECT_EQ(rig.builder.status(3).state, events::BoardState::silent);
    for (TestBoard& board : rig.boards) board.begin_run(2);
    for (const TestBoard& board : rig.boards) rig.place(board.start());
    EXPECT_EQ(rig.builder.status(3).state, events::BoardState::live);
    rig.place_event(0);
    EXPECT_EQ(rig.value(events_complete), 1U);
}

TEST(CameraRuns, AFloodOfRunsCannotOverfillTheConsumersRing) {
    CameraRig rig(small_camera());
    for (std::uint32_t run = 1; run < 1000; ++run) {
        for (TestBoard& board : rig.boards) board.begin_run(run);
        for (const TestBoard& board : rig.boards) rig.place(board.start());
        rig.place_event(0);
    }
    EXPECT_LT(rig.value(runs_begun), 999U);
    EXPECT_GT(rig.value(fragments_other_run), 0U);
    rig.finish();
    std::size_t n_ends = 0;
    for (const test::TakenPart& taken : rig.parts) n_ends += taken.part.end_of_run ? 1 : 0;
    EXPECT_EQ(n_ends, rig.value(runs_begun));
    test::expect_sums(rig.builder);
}

}  // namespace
}  // namespace anello::camera::runs_test

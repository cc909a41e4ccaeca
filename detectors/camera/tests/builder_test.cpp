// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/builder.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "camera/tests/rig.hpp"
#include "core/errors.hpp"

namespace anello::camera::builder_test {
namespace {

using test::Bytes;
using test::CameraRig;
using test::small_camera;
using test::TestBoard;
using testing::ElementsAre;
using enum CameraBuildCounter;

TEST(CameraBuilder, AnEventOfAllBoardsGoesOnAtOnce) {
    CameraRig rig(small_camera());
    rig.place_event(7);
    rig.take_all();
    ASSERT_EQ(rig.parts.size(), 1U);
    EXPECT_EQ(rig.last().part.run_id, 1U);
    EXPECT_EQ(rig.last().part.event_number, 7U);
    EXPECT_EQ(rig.last().part.n_present, 4U);
    EXPECT_EQ(rig.last().part.end, EventEnd::complete);
    EXPECT_EQ(rig.last().part.timestamp_ns, 7000U);
    EXPECT_EQ(rig.value(events_complete), 1U);
    EXPECT_EQ(rig.value(fragments_missing), 0U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, EventsGoOnInTheOrderOfTheirNumbers) {
    CameraRig rig(small_camera());
    rig.place(rig.boards[0].data(1));
    rig.place_event(2);
    rig.place_event(3);
    rig.take_all();
    EXPECT_TRUE(rig.parts.empty()) << "event 1 still waits for three boards";
    for (std::uint32_t i = 1; i < 4; ++i) rig.place(rig.boards[i].data(1));
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(1, 2, 3));
}

TEST(CameraBuilder, FragmentsThatOvertookTheFirstEventDoNotLoseIt) {
    CameraRig rig(small_camera());
    rig.place(rig.boards[0].data(5));
    for (std::uint32_t event = 3; event < 6; ++event)
        rig.place_event(event, event == 5 ? std::vector{0U} : std::vector<std::uint32_t>{});
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(3, 4, 5));
}

TEST(CameraBuilder, NumbersThatNobodySentAreNotWaitedFor) {
    CameraRig rig(small_camera());
    rig.place_event(1);
    rig.place_event(4);
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(1, 4));
    rig.place(rig.boards[0].data(2));
    EXPECT_EQ(rig.value(fragments_late), 1U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, EventNumbersWrap) {
    CameraRig rig(small_camera());
    for (std::uint32_t i = 0; i < 100; ++i) {
        rig.place_event(0xffffffffU - 50 + i);
        rig.take_all();
    }
    EXPECT_EQ(rig.value(events_complete), 100U);
    EXPECT_EQ(rig.event_numbers()[50], 0xffffffffU);
    EXPECT_EQ(rig.event_numbers()[51], 0U);
    EXPECT_EQ(rig.value(windows_moved), 0U);
}

TEST(CameraBuilder, AnIncompleteEventGoesOnAfterTheTimeout) {
    CameraRig rig(small_camera());
    rig.place_event(1);
    rig.clock.advance(1'000'000);
    rig.work();
    rig.boards[2].lose(2);
    rig.place_event(2, {2});
    rig.place_event(3);
    rig.advance_ms(19);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(1));
    rig.advance_ms(1);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(1, 2, 3));
    EXPECT_EQ(rig.parts[1].part.end, EventEnd::timeout);
    EXPECT_FALSE(rig.parts[1].present.contains(2));
    EXPECT_EQ(rig.value(fragments_missing), 1U);
    rig.place(TestBoard(2).data(2));
    EXPECT_EQ(rig.value(fragments_duplicate) + rig.value(fragments_late), 1U);
    rig.finish();
    EXPECT_EQ(rig.value(2, CameraBoardCounter::missing), 1U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::lost), 1U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, AnEventThatBeganBehindOthersDoesNotWaitLongerThanThey) {
    CameraRig rig(small_camera());
    for (std::uint32_t i = 0; i < 2; ++i) rig.place(rig.boards[i].data(1));
    for (std::uint32_t i = 1; i < 3; ++i) rig.place(rig.boards[i].data(3));
    rig.clock.advance(15'000'000);
    rig.work();
    rig.place(rig.boards[1].data(2));
    rig.advance_ms(5);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(1, 2, 3));
}

TEST(CameraBuilder, WhatWaitsInFrontOfAThreadThatCouldNotRunIsNotOverdue) {
    CameraRig rig(small_camera());
    rig.place(rig.boards[0].data(1));
    rig.clock.advance(500'000'000);
    rig.builder.read_clocks();
    rig.place(rig.boards[1].data(1));
    rig.builder.on_time(0);  // there is more than one batch
    rig.take_all();
    EXPECT_TRUE(rig.parts.empty());
    rig.builder.read_clocks();
    for (std::uint32_t i = 2; i < 4; ++i) rig.place(rig.boards[i].data(1));
    rig.work();
    rig.take_all();
    EXPECT_EQ(rig.value(events_complete), 1U);
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    for (std::uint32_t i = 0; i < 2; ++i) rig.place(rig.boards[i].data(2));
    for (int i = 0; i < 30; ++i) {
        rig.clock.advance(1'000'000);
        rig.builder.read_clocks();
        rig.builder.on_time(rig.builder.now_ns() - 5'000'000);
    }
    EXPECT_EQ(rig.value(events_timeout), 1U) << "a flood without an end holds nothing up";
}

TEST(CameraBuilder, ADeadBoardIsWaitedForOnce) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 4; ++event) {
        rig.place_event(event);
        rig.advance_ms(1);
    }
    ASSERT_EQ(rig.parts.size(), 4U);
    for (std::uint32_t event = 4; event < 100; ++event) {
        rig.place_event(event, {3});
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.builder.status(3).state, events::BoardState::silent);
    EXPECT_EQ(rig.builder.status(3).silences, 1U);
    EXPECT_EQ(rig.value(boards_silenced), 1U);
    ASSERT_EQ(rig.parts.size(), 100U);
    for (const test::TakenPart& taken : rig.parts)
        if (taken.part.event_number > 30) {
            EXPECT_EQ(taken.part.closed_ns, taken.part.first_ns) << "not a moment's delay";
            EXPECT_EQ(taken.part.end, EventEnd::timeout);
        } else {
            EXPECT_LE(taken.part.closed_ns - taken.part.first_ns, 20'000'000);
        }
    rig.place_event(100);
    rig.advance_ms(1);
    EXPECT_EQ(rig.builder.status(3).state, events::BoardState::live);
    EXPECT_EQ(rig.last().part.n_present, 3U) << "the event was there before the board came back";
    rig.place_event(101);
    rig.advance_ms(1);
    EXPECT_EQ(rig.last().part.end, EventEnd::complete);
    rig.finish();
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, ADeadBoardIsNoticedThoughTheWindowIsShorterThanTheTimeout) {
    const CameraBuilderConfig config = small_camera();
    CameraRig rig(config);
    rig.place_event(0);
    for (std::uint32_t event = 1; event < 200; ++event) {
        rig.advance_ms(1);
        rig.place_event(event, {0});
    }
    EXPECT_EQ(rig.builder.status(0).state, events::BoardState::silent);
    const auto timeout_ms = static_cast<std::uint64_t>(config.timeout_ns / 1'000'000);
    EXPECT_EQ(rig.value(events_pushed_out), timeout_ms - config.window_events)
        << "an event a millisecond: it is waited for through the timeout, and the window holds the last ones";
    rig.finish();
    EXPECT_EQ(rig.parts.size(), 201U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, ABoardThatLosesFragmentsAtAHighRateIsNotSilent) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 400; ++event) {
        const bool lost = event % 10 == 5;
        if (lost) rig.boards[1].lose(event);
        rig.place_event(event, lost ? std::vector{1U} : std::vector<std::uint32_t>{});
        if (event % 4 == 0) rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    EXPECT_EQ(rig.value(1, CameraBoardCounter::lost), 40U);
    EXPECT_EQ(rig.value(1, CameraBoardCounter::missing), 40U);
    for (std::uint32_t board = 0; board < 4; ++board) test::expect_board_sum(rig.builder, board);
    test::expect_sums(rig.builder);
}

/// As after a pause of this process: it lost one event, its next ones came, and all of that is read at once.
TEST(CameraBuilder, ABoardThatSentALaterEventInTheSameReadIsNotSilent) {
    CameraRig rig(small_camera());
    rig.boards[1].lose(0);
    rig.place_event(0, {1});
    rig.place_event(1);
    rig.advance_ms(20);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0, 1));
    EXPECT_EQ(rig.value(boards_silenced), 0U);
    rig.place_event(2, {1});
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0, 1)) << "it is waited for";
    rig.place(rig.boards[1].data(2));
    rig.advance_ms(1);
    EXPECT_EQ(rig.last().part.end, EventEnd::complete);
}

TEST(CameraBuilder, ABoardThatSentSinceIsNotSilent) {
    CameraRig rig(small_camera());
    rig.boards[1].lose(0);
    rig.place_event(0, {1});
    rig.advance_ms(1);
    rig.place(rig.boards[1].data(1));
    rig.advance_ms(19);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0)) << "it is over for the event,";
    EXPECT_EQ(rig.builder.status(1).state, events::BoardState::live) << "not for the board";
    EXPECT_EQ(rig.value(boards_silenced), 0U);
}

TEST(CameraBuilder, ABoardThatMissesMostEventsIsSlow) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 1000; ++event) {
        if (event % 3 != 0) rig.boards[1].lose(event);
        rig.place_event(event, event % 3 != 0 ? std::vector{1U} : std::vector<std::uint32_t>{});
        rig.advance_ms(1);
    }
    EXPECT_TRUE(rig.builder.status(1).is_slow);
    EXPECT_FALSE(rig.builder.status(0).is_slow);
    EXPECT_NEAR(rig.builder.status(0).rate_hz, 1000.0, 20.0);
    EXPECT_NEAR(rig.builder.status(1).rate_hz, 333.0, 20.0);
    EXPECT_EQ(rig.builder.status(0).last_seen_ns, rig.clock.monotonic_ns() - 1'000'000);
}

TEST(CameraBuilder, TheWindowPushesEventsOut) {
    CameraRig rig(small_camera());
    rig.boards[0].lose(0);
    rig.place_event(0, {0});
    for (std::uint32_t event = 1; event < 8; ++event) rig.place_event(event);
    rig.take_all();
    EXPECT_TRUE(rig.parts.empty());
    rig.place_event(8);
    rig.take_all();
    EXPECT_EQ(rig.parts.size(), 9U);
    EXPECT_EQ(rig.parts[0].part.end, EventEnd::pushed_out);
    EXPECT_EQ(rig.value(events_pushed_out), 1U);
    EXPECT_EQ(rig.value(fragments_ahead), 0U);
}

TEST(CameraBuilder, OneBoardAloneDoesNotMoveTheWindow) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    for (std::uint32_t i = 0; i < 50; ++i) rig.place(rig.boards[2].data(1000 + i));
    EXPECT_EQ(rig.value(windows_moved), 0U);
    rig.place_event(1, {2});
    rig.advance_ms(20);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0, 1));
    EXPECT_EQ(rig.builder.status(2).state, events::BoardState::silent)
        << "nobody waits for a board that is out of step";
    rig.finish();
    EXPECT_EQ(rig.value(fragments_ahead), 50U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::ahead), 50U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, MostBoardsMoveTheWindow) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    rig.place(rig.boards[0].data(1));
    for (std::uint32_t i = 0; i < 2; ++i) rig.place(rig.boards[i].data(1000));
    EXPECT_EQ(rig.value(windows_moved), 0U) << "half of the boards are not most";
    for (std::uint32_t i = 2; i < 4; ++i) rig.place(rig.boards[i].data(1000));
    rig.place_event(1001);
    rig.take_all();
    EXPECT_EQ(rig.value(windows_moved), 1U);
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0, 1, 1000, 1001));
    EXPECT_EQ(rig.parts[1].part.end, EventEnd::pushed_out);
    EXPECT_EQ(rig.value(events_complete), 3U) << "fragments before most boards had sent were held";
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    for (std::uint32_t board = 0; board < 4; ++board) test::expect_board_sum(rig.builder, board);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, AJumpBackIsLate) {
    CameraRig rig(small_camera());
    rig.place_event(1000);
    rig.place_event(10);
    rig.place_event(999);
    EXPECT_EQ(rig.value(fragments_late), 8U);
    rig.place_event(1001);
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(1000, 1001));
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, AnOnlyBoardConfirmsItself) {
    CameraRig rig(small_camera(1));
    rig.place_event(0);
    rig.place_event(1000);
    rig.place_event(1001);
    rig.take_all();
    EXPECT_THAT(rig.event_numbers(), ElementsAre(0, 1000, 1001));
    EXPECT_EQ(rig.value(fragments_ahead), 0U);
}

TEST(CameraBuilder, TheLastLiveBoardGoesOnAlone) {
    CameraRig rig(small_camera(2));
    rig.place_event(0);
    for (std::uint32_t event = 1; event < 100; ++event) {
        rig.place_event(event, {0});
        rig.advance_ms(1);
    }
    EXPECT_EQ(rig.value(fragments_ahead), 0U);
    EXPECT_EQ(rig.parts.size(), 100U);
}

TEST(CameraBuilder, DuplicatesAreNotUsed) {
    CameraRig rig(small_camera());
    const Bytes first = rig.boards[0].data(0);
    rig.place(first);
    rig.place(first);
    TestBoard liar(1);
    rig.place(liar.data(0));
    rig.place(liar.data(0));
    EXPECT_EQ(rig.value(fragments_duplicate), 2U) << "by sequence number, and by event";
    for (std::uint32_t i = 1; i < 4; ++i) rig.place(rig.boards[i].data(0));
    rig.place(first);
    EXPECT_EQ(rig.value(fragments_duplicate), 4U) << "also when its event has gone";
    EXPECT_EQ(rig.value(fragments_conflicting), 1U) << "the liar's second has another sequence number";
    EXPECT_EQ(rig.value(fragments_late), 0U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, WhatABoardThatBeganAnewSendsOfAnEventThatHasGoneIsNoDuplicate) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 20; ++event) rig.place_event(event);
    for (std::uint32_t event = 20; event < 60; ++event) {
        rig.place_event(event, {0});  // board 0 is off, and becomes silent
        rig.advance_ms(1);
    }
    rig.boards[0] = TestBoard(0);
    for (std::uint32_t event = 60; event < 70; ++event) {
        rig.place_event(event, {0});
        rig.place(rig.boards[0].data(event));
    }
    EXPECT_EQ(rig.value(0, CameraBoardCounter::duplicate), 10U);
    EXPECT_EQ(rig.value(0, CameraBoardCounter::conflicting), 10U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, TheRepetitionOfALateFragmentIsADuplicate) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    rig.place_event(1, {3});
    rig.advance_ms(25);
    const Bytes late = rig.boards[3].data(1);
    rig.place(late);
    rig.place(late);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::late), 1U);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::duplicate), 1U);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::conflicting), 0U);
}

TEST(CameraBuilder, TheRepetitionOfAHeldFragmentIsADuplicate) {
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 5; ++event) rig.place_event(event);
    const Bytes ahead = rig.boards[3].data(1000);
    rig.place(ahead);
    rig.place(ahead);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::duplicate), 1U);
    EXPECT_EQ(rig.value(3, CameraBoardCounter::conflicting), 0U);
    rig.finish();
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, WhatBoardsSendThatBeganAnewInTheSameRunIsNoDuplicate) {
    constexpr std::uint64_t pause_ns = 5'000'000'000;
    CameraRig rig(small_camera());
    for (std::uint32_t event = 0; event < 20; ++event) rig.place_event(event);
    rig.take_all();
    ASSERT_EQ(rig.parts.size(), 20U);
    for (TestBoard& board : rig.boards) {
        board = TestBoard(board.number());
        board.set_clock_ahead(pause_ns);
    }
    for (std::uint32_t event = 0; event < 20; ++event) rig.place_event(event);
    EXPECT_EQ(rig.value(fragments_duplicate), 80U);
    EXPECT_EQ(rig.value(fragments_conflicting), 80U);
    EXPECT_EQ(rig.builder.board_counters(2)[CameraBoardCounter::conflicting], 20U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, BoardsOfOtherPortsAndUnknownOnesAreNotUsed) {
    CameraBuilderConfig config = small_camera();
    config.stream_boards = {{0, 2}, {2, 2}};
    CameraRig rig(config);
    rig.place(rig.boards[0].data(0), 0);
    rig.place(rig.boards[3].data(0), 1);
    rig.place(rig.boards[1].data(0), 1);
    rig.place(rig.boards[2].data(0), 0);
    rig.place(TestBoard(4).data(0), 1);
    rig.place(TestBoard(60000).data(0), 1);
    rig.place(rig.boards[0].data(1), 7);
    rig.place(TestBoard(60000).start(), 0);
    EXPECT_EQ(rig.value(fragments_wrong_board), 5U);
    EXPECT_EQ(rig.value(fragments_placed), 2U);
    EXPECT_EQ(rig.value(markers), 1U);
    rig.finish();
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, FragmentsLargerThanASlotAreNotUsed) {
    CameraRig rig(small_camera());
    rig.boards[0].set_payload_bytes(201);
    rig.boards[1].set_payload_bytes(8908);
    rig.boards[2].set_payload_bytes(200);
    rig.boards[3].set_payload_bytes(0);
    rig.place_event(0);
    EXPECT_EQ(rig.value(fragments_wrong_size), 2U);
    EXPECT_EQ(rig.value(fragments_placed), 2U);
    rig.finish();
    EXPECT_EQ(rig.last().part.end_of_run, true);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, MalformedDatagramsAreCountedByVerdict) {
    CameraRig rig(small_camera());
    Bytes damaged = rig.boards[0].data(0);
    damaged.back() ^= std::byte{1};
    rig.place(damaged);
    rig.place(Bytes(10));
    rig.place(Bytes(100));
    const Bytes longer = rig.boards[1].data(0);
    rig.builder.place({.bytes = std::span(longer).first(120), .stream = 0, .cut = true, .kernel_ns = 0});
    EXPECT_EQ(rig.builder.verdicts()[wire::Verdict::wrong_checksum], 1U);
    EXPECT_EQ(rig.builder.verdicts()[wire::Verdict::too_short], 1U);
    EXPECT_EQ(rig.builder.verdicts()[wire::Verdict::wrong_magic], 1U);
    EXPECT_EQ(rig.builder.verdicts()[wire::Verdict::wrong_length], 1U);
    EXPECT_EQ(rig.value(fragments_in), 0U);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, ChecksumsAreCheckedWhenAskedFor) {
    CameraBuilderConfig config = small_camera();
    config.verify_checksum = false;
    CameraRig rig(config);
    rig.hold = true;  // this one is not to be read by the rig
    Bytes damaged = rig.boards[0].data(0);
    damaged[66] ^= std::byte{1};
    rig.place(damaged);
    EXPECT_EQ(rig.value(fragments_placed), 1U);
    Bytes marker = rig.boards[1].start();
    marker.back() ^= std::byte{1};
    rig.place(marker);
    EXPECT_EQ(rig.value(markers), 0U) << "a marker's is checked always";
}

TEST(CameraBuilder, SequenceNumbersFarOffAreUsedByTheirEvent) {
    CameraRig rig(small_camera());
    rig.place_event(0);
    for (int i = 0; i < 50'000; ++i) rig.boards[0].lose(0);
    for (std::uint32_t event = 1; event < 4; ++event) rig.place_event(event);
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    EXPECT_EQ(rig.value(events_complete), 4U);
    EXPECT_EQ(rig.value(0, CameraBoardCounter::lost), 50'000U);
    test::expect_board_sum(rig.builder, 0);
}

TEST(CameraBuilder, WithoutAFreeBufferNothingIsWanted) {
    CameraBuilderConfig config = small_camera();
    config.n_events = 16;
    CameraRig rig(config);
    rig.hold = true;
    EXPECT_TRUE(rig.builder.wants(4));
    std::uint32_t event = 0;
    for (; event < 100 && rig.builder.wants(4); ++event) {
        rig.place_event(event);
        rig.take_all();
    }
    EXPECT_EQ(event, 13U) << "a batch can begin four more";
    EXPECT_EQ(rig.value(stalls_no_buffer), 1U);
    EXPECT_FALSE(rig.builder.wants(4));
    EXPECT_EQ(rig.value(stalls_no_buffer), 1U) << "one stall, asked about twice";
    rig.give_back_held();
    EXPECT_TRUE(rig.builder.wants(4));
    EXPECT_EQ(rig.value(fragments_dropped), 0U);
}

TEST(CameraBuilder, WithPolicyDropNewWhatFindsNoBufferIsDropped) {
    CameraBuilderConfig config = small_camera();
    config.window_events = 2;
    config.n_events = 4;
    config.full_policy = receive::FullPolicy::drop_new;
    CameraRig rig(config);
    rig.hold = true;
    for (std::uint32_t event = 0; event < 6; ++event) {
        EXPECT_TRUE(rig.builder.wants(64));
        rig.place_event(event);
        rig.take_all();
    }
    EXPECT_EQ(rig.value(events_complete), 4U);
    EXPECT_EQ(rig.value(fragments_dropped), 8U);
    rig.give_back_held();
    rig.place_event(6);
    for (const TestBoard& board : rig.boards) rig.place(board.end());
    rig.finish();
    EXPECT_EQ(rig.value(events_complete), 5U);
    for (std::uint32_t board = 0; board < 4; ++board) test::expect_board_sum(rig.builder, board);
    test::expect_sums(rig.builder);
}

TEST(CameraBuilder, CopiesPastTheCacheAreTheSame) {
    for (const CopyMode copy : {CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal}) {
        CameraBuilderConfig config = small_camera();
        config.copy = copy;
        CameraRig rig(config);
        for (std::uint16_t n_bytes = 0; n_bytes <= 200; ++n_bytes) {
            for (TestBoard& board : rig.boards) board.set_payload_bytes(n_bytes);
            rig.place_event(n_bytes);
            rig.take_all();
        }
        EXPECT_EQ(rig.value(events_complete), 201U);
    }
}

TEST(CameraBuilder, GuessesThatAreRightGoOnThoughTheyAreMadeOneByOne) {
    auto config = small_camera();
    config.in_place = true;
    CameraRig rig(config);
    for (std::uint32_t event = 0; event < 2; ++event) rig.place_event(event);
    for (std::uint32_t event = 2; event < 200; ++event) {
        for (TestBoard& board : rig.boards) {
            const Bytes datagram = board.data(event);
            iovec place{};
            ASSERT_EQ(rig.builder.promise(0, {&place, 1}), 1U) << "event " << event;
            std::memcpy(place.iov_base, datagram.data(), datagram.size());
            receive::Datagram landed{.bytes = {static_cast<const std::byte*>(place.iov_base), datagram.size()}};
            rig.builder.place_promised({&landed, 1});
        }
        rig.take_all();
    }
    EXPECT_EQ(rig.value(landed_in_place), 198U * 4);
    EXPECT_EQ(rig.value(events_complete), 200U);
}

TEST(CameraBuilder, WrongConfigurationsNameThemselves) {
    const auto field_of = [](auto change) -> std::string {
        CameraBuilderConfig config = small_camera();
        change(config);
        try {
            config.validate();
        } catch (const ConfigError& error) {
            return error.field();
        }
        return "none";
    };
    EXPECT_EQ(field_of([](auto&) {}), "none");
    EXPECT_EQ(field_of([](auto& c) { c.window_events = 48; }), "camera_build.window_events");
    EXPECT_EQ(field_of([](auto& c) { c.n_events = 2; }), "camera_build.n_events");
    EXPECT_EQ(field_of([](auto& c) { c.timeout_ns = 0; }), "camera_build.timeout_ms");
    EXPECT_EQ(field_of([](auto& c) { c.shape.n_boards = 1025; }), "camera.boards");
    EXPECT_EQ(field_of([](auto& c) { c.shape.max_payload_bytes = 9000; }), "camera.payload_bytes");
    EXPECT_EQ(field_of([](auto& c) { c.boards = {2, 3}; }), "camera_build.groups");
    EXPECT_EQ(field_of([](auto& c) { c.boards = {0, 0}; }), "camera_build.groups");
    EXPECT_EQ(field_of([](auto& c) { c.stream_boards = {{3, 2}}; }), "receive.ports");
    EXPECT_EQ(field_of([](auto& c) { c.full_policy = receive::FullPolicy::overwrite_oldest; }), "receive.policy");
    EXPECT_THROW(parse_word<CopyMode>("fast", {}), ConfigError);
    EXPECT_EQ(parse_word<CopyMode>("auto", {}), CopyMode::automatic);
}

}  // namespace
}  // namespace anello::camera::builder_test

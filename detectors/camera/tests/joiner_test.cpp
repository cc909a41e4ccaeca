// SPDX-License-Identifier: Apache-2.0
#include "camera/events/joiner.hpp"

#include <gmock/gmock.h>

#include <utility>

#include "camera/tests/rig.hpp"
#include "core/errors.hpp"

namespace anello::camera::joiner_test {
namespace {

using test::Bytes;
using test::TestBoard;
using testing::ElementsAre;
using enum CameraJoinCounter;

/// Three groups of 3, 3 and 2 boards, and what their consumer sees.
class JoinRig {
  public:
    JoinRig() {
        std::vector<CameraBuilder*> pointers;
        const auto votes = std::make_shared<CameraVotes>(8, 3, test::small_camera(8).window_events);
        for (std::uint32_t group = 0; group < 3; ++group) {
            CameraBuilderConfig config = test::small_camera(8);
            config.group = group;
            config.boards = boards_of_group(8, 3, group);
            config.votes = votes;
            builders.push_back(std::make_unique<CameraBuilder>(config, clock, page));
            pointers.push_back(builders.back().get());
        }
        joiner = std::make_unique<CameraJoiner>(CameraJoinerConfig{}, pointers, clock, page);
        for (std::uint16_t board = 0; board < 8; ++board) boards.emplace_back(board);
    }

    void place(std::uint32_t board, const Bytes& datagram) {
        builders[board / 3]->place({.bytes = datagram, .stream = 0, .cut = false, .kernel_ns = 0});
    }
    void place_event(std::uint32_t event_number, std::initializer_list<std::uint32_t> groups = {0, 1, 2}) {
        for (const std::uint32_t group : groups)
            for (TestBoard& board : boards)
                if (board.number() / 3 == group) place(board.number(), board.data(event_number));
    }
    void end(std::initializer_list<std::uint32_t> groups = {0, 1, 2}) {
        for (const std::uint32_t group : groups) builders[group]->finish();
    }
    void advance_ms(std::int64_t ms) {
        for (; ms > 0; --ms) {
            clock.advance(1'000'000);
            for (auto& builder : builders) {
                builder->read_clocks();
                builder->on_time(builder->now_ns());
            }
            take_all();
        }
    }
    std::vector<std::uint32_t> take() {
        take_all();
        return std::exchange(numbers, {});
    }
    void take_all() {
        CameraEventView view;
        while (joiner->try_take(view)) {
            numbers.push_back(view.event_number);
            EXPECT_EQ(view.present.count(), view.n_present);
            for (std::uint32_t board = 0; board < 8; ++board)
                if (view.present.contains(board)) {
                    EXPECT_EQ(test::fault_of(view.slot(board), view.run_id, view.event_number, board), "");
                }
            last = view;
            joiner->release(view);
        }
    }
    std::uint64_t value(CameraJoinCounter counter) const { return joiner->counters()[counter]; }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    std::vector<std::unique_ptr<CameraBuilder>> builders;
    std::unique_ptr<CameraJoiner> joiner;
    std::vector<TestBoard> boards;
    CameraEventView last;
    std::vector<std::uint32_t> numbers;
};

TEST(CameraJoiner, PartsOfAllGroupsBecomeOneEvent) {
    JoinRig rig;
    rig.place_event(0, {0, 1});
    EXPECT_THAT(rig.take(), ElementsAre()) << "the third group is to come";
    rig.place_event(0, {2});
    EXPECT_THAT(rig.take(), ElementsAre(0));
    EXPECT_TRUE(rig.last.is_complete());
    EXPECT_EQ(rig.last.timestamp_ns, 0U);
    EXPECT_EQ(rig.value(events_complete), 1U);
    EXPECT_TRUE(rig.joiner->is_empty());
}

TEST(CameraJoiner, AnEventsTimeIsThatOfMostBoards) {
    for (const std::uint32_t wrong_group : {0U, 1U, 2U}) {
        JoinRig rig;
        for (TestBoard& board : rig.boards) board.set_clock_ahead(board.number() / 3 == wrong_group ? 1'000'000 : 0);
        rig.place_event(7);
        EXPECT_THAT(rig.take(), ElementsAre(7));
        EXPECT_EQ(rig.last.timestamp_ns, 7000U) << "group " << wrong_group << " is a millisecond ahead";
    }
}

TEST(CameraJoiner, AnEventsTagIsThatOfMostBoards) {
    for (const std::uint32_t wrong_group : {0U, 1U, 2U}) {
        JoinRig rig;
        for (TestBoard& board : rig.boards)
            board.set_trigger_tag(board.number() / 3 == wrong_group ? wire::camera::tag_mono
                                                                    : wire::camera::tag_pedestal);
        rig.place_event(7);
        EXPECT_THAT(rig.take(), ElementsAre(7));
        EXPECT_EQ(rig.last.trigger_tag, wire::camera::tag_pedestal) << "group " << wrong_group << " says mono";
    }
}

TEST(CameraJoiner, AnEventLastsFromItsFirstFragmentUntilItsLastGroupCloses) {
    JoinRig rig;
    rig.advance_ms(1);
    const Nanoseconds first_ns = rig.clock.wall_ns();
    for (const std::uint32_t group : {1U, 2U, 0U}) {
        rig.place_event(0, {group});
        if (group != 0) rig.advance_ms(1);
    }
    EXPECT_THAT(rig.take(), ElementsAre(0));
    EXPECT_EQ(rig.last.first_ns, first_ns);
    EXPECT_EQ(rig.last.closed_ns, first_ns + 2'000'000);
}

TEST(CameraJoiner, AGroupThatHasPassedAnEventIsNotWaitedFor) {
    JoinRig rig;
    rig.place_event(5, {0, 2});
    rig.place_event(6, {0, 1, 2});
    EXPECT_THAT(rig.take(), ElementsAre(5, 6));
    EXPECT_EQ(rig.value(events_incomplete), 1U);
    EXPECT_EQ(rig.value(fragments), 13U);
}

TEST(CameraJoiner, AGroupThatHasEndedIsNotWaitedFor) {
    JoinRig rig;
    rig.place_event(0);
    rig.end({1});
    rig.place_event(1, {0, 2});
    EXPECT_THAT(rig.take(), ElementsAre(0, 1));
    EXPECT_EQ(rig.value(runs_ended), 0U);
    rig.end({0, 2});
    EXPECT_THAT(rig.take(), ElementsAre());
    EXPECT_EQ(rig.value(runs_ended), 1U);
    EXPECT_EQ(rig.value(groups_silenced), 0U);
}

TEST(CameraJoiner, ADeadGroupIsWaitedForOnce) {
    JoinRig rig;
    rig.place_event(0);
    rig.place_event(1, {0, 2});
    EXPECT_THAT(rig.take(), ElementsAre(0));
    rig.advance_ms(39);
    EXPECT_THAT(rig.take(), ElementsAre());
    rig.advance_ms(1);
    EXPECT_THAT(rig.take(), ElementsAre(1));
    EXPECT_EQ(rig.value(groups_silenced), 1U);
    rig.place_event(2, {0, 2});
    EXPECT_THAT(rig.take(), ElementsAre(2));
    rig.place_event(2, {1});
    EXPECT_THAT(rig.take(), ElementsAre());
    EXPECT_EQ(rig.value(parts_late), 1U);
    EXPECT_EQ(rig.value(fragments_late), 3U);
    rig.place_event(3, {0, 2});
    EXPECT_THAT(rig.take(), ElementsAre()) << "it sends again and is waited for";
    rig.place_event(3, {1});
    EXPECT_THAT(rig.take(), ElementsAre(3));
}

TEST(CameraJoiner, NoGroupIsSilentWhileTheNodeItselfStoodStill) {
    JoinRig rig;
    for (std::uint32_t event = 0; event < 5; ++event) {
        rig.place_event(event, {0, 2});
        EXPECT_THAT(rig.take(), ElementsAre());
        rig.clock.advance(100'000'000);
        EXPECT_THAT(rig.take(), ElementsAre());
        rig.place_event(event, {1});
        EXPECT_THAT(rig.take(), ElementsAre(event));
    }
    EXPECT_EQ(rig.value(groups_silenced), 0U);
    EXPECT_EQ(rig.value(events_complete), 5U);
}

/// After a pause of the node one group has been read, the other to a time long before now, and waits for a fragment of
/// its oldest event. What that group has of the event arrived before that time, and is not silence.
TEST(CameraJoiner, AGroupThatHasReadAnEventAfterAPauseIsNotSilent) {
    JoinRig rig;
    rig.place_event(1);
    EXPECT_THAT(rig.take(), ElementsAre(1));
    const Nanoseconds pause_ns = 10 * CameraJoinerConfig{}.timeout_ns, began_ns = rig.clock.monotonic_ns();
    rig.place_event(2, {0, 1});
    EXPECT_THAT(rig.take(), ElementsAre()) << "the joiner waits for the third group from here on";
    rig.clock.advance(pause_ns);
    rig.builders[2]->read_clocks();
    rig.place(6, rig.boards[6].data(2));
    rig.builders[2]->on_time(began_ns + pause_ns / 2);
    EXPECT_THAT(rig.take(), ElementsAre());
    rig.place(7, rig.boards[7].data(2));
    EXPECT_THAT(rig.take(), ElementsAre(2));
    EXPECT_EQ(rig.last.n_present, 8U);
    EXPECT_EQ(rig.value(groups_silenced), 0U);
}

TEST(CameraJoiner, AGroupThatNeverSentDoesNotKeepARunFromEnding) {
    JoinRig rig;
    rig.place_event(0, {0, 2});
    rig.end();
    EXPECT_THAT(rig.take(), ElementsAre());
    rig.advance_ms(1);
    rig.take();
    rig.advance_ms(40);
    EXPECT_THAT(rig.take(), ElementsAre(0));
    EXPECT_EQ(rig.value(runs_ended), 1U);
}

TEST(CameraJoiner, AGroupBetweenRareEventsIsWaitedForWhenOthersHaveEnded) {
    JoinRig rig;
    rig.place_event(0);
    rig.take();
    rig.end({0, 1});
    rig.take();
    rig.advance_ms(1000);
    rig.take();
    rig.place_event(1, {2});
    EXPECT_THAT(rig.take(), ElementsAre(1));
    EXPECT_EQ(rig.value(parts_late), 0U);
}

TEST(CameraJoiner, RunsFollowOneAnother) {
    JoinRig rig;
    for (std::uint32_t run = 1; run <= 5; ++run) {
        for (TestBoard& board : rig.boards) board.begin_run(run);
        for (TestBoard& board : rig.boards) rig.place(board.number(), board.start());
        for (std::uint32_t event = 0; event < 4; ++event) rig.place_event(event);
    }
    for (std::uint32_t run = 1; run <= 5; ++run) {
        CameraEventView view;
        for (std::uint32_t event = 0; event < 4; ++event) {
            ASSERT_TRUE(rig.joiner->try_take(view));
            EXPECT_EQ(view.run_id, run);
            EXPECT_EQ(view.event_number, event);
            EXPECT_TRUE(view.is_complete());
            rig.joiner->release(view);
        }
    }
    rig.end();
    rig.take();
    EXPECT_EQ(rig.value(runs_ended), 5U);
    EXPECT_EQ(rig.value(parts_in), 60U);
    EXPECT_EQ(rig.value(parts_joined), 60U);
}

TEST(CameraJoiner, EventNumbersWrap) {
    JoinRig rig;
    for (std::uint32_t i = 0; i < 6; ++i) rig.place_event(0xfffffffdU + i);
    EXPECT_THAT(rig.take(), ElementsAre(0xfffffffdU, 0xfffffffeU, 0xffffffffU, 0U, 1U, 2U));
}

TEST(CameraJoiner, SeveralEventsMayBeHeld) {
    JoinRig rig;
    std::vector<CameraEventView> held;
    for (std::uint32_t event = 0; event < 20; ++event) {
        rig.place_event(event);
        CameraEventView view;
        ASSERT_TRUE(rig.joiner->try_take(view));
        held.push_back(view);
    }
    for (const CameraEventView& view : held)
        for (std::uint32_t board = 0; board < 8; ++board)
            EXPECT_EQ(test::fault_of(view.slot(board), 1, view.event_number, board), "");
    for (const CameraEventView& view : held) rig.joiner->release(view);
    for (std::uint32_t event = 20; event < 100; ++event) {
        rig.place_event(event);
        EXPECT_THAT(rig.take(), ElementsAre(event));
    }
}

TEST(CameraJoiner, GroupsThatAreNotTheCameraAreRefused) {
    JoinRig rig;
    CounterPage page;
    const auto join = [&](std::vector<CameraBuilder*> builders) {
        CameraJoiner(CameraJoinerConfig{}, std::move(builders), rig.clock, page);
    };
    EXPECT_THROW(join({}), ConfigError);
    EXPECT_THROW(join({rig.builders[0].get()}), ConfigError);
    EXPECT_THROW(join({rig.builders[1].get(), rig.builders[0].get(), rig.builders[2].get()}), ConfigError);
}

}  // namespace
}  // namespace anello::camera::joiner_test

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "unit/events/merger_rig.hpp"

namespace anello::events::test {
namespace {

using testing::ElementsAre;
using Fragments = std::vector<TestFragment>;

MergerConfig two_boards() {
    MergerConfig config;
    config.n_boards = 2;
    config.window_ticks = 2;
    config.batch = {.max_events = 8, .max_hits = 64};
    return config;
}

std::vector<std::uint32_t> times_of(const std::vector<TestEvent>& events) {
    std::vector<std::uint32_t> times;
    for (const auto& event : events) times.push_back(static_cast<std::uint32_t>(event.event_key));
    return times;
}

void end_all(MergerRig& rig, std::uint32_t burst_id = 1) {
    for (std::uint32_t board = 0; board < rig.config.n_boards; ++board) rig.source.end(board, burst_id);
    rig.work();
}

TEST(Merger, JoinsTheFragmentsOfAllBoardsInBoardOrder) {
    MergerRig rig(two_boards());
    rig.source.give(1, Fragments{{100, 10, {7, 8}, 50, 900}, {200, 0, {9}, 60, 901}}, 1, receive::CloseReason::size,
                    30);
    rig.source.give(0, Fragments{{101, 20, {1, 2, 3}, 40, 910}, {200, 0, {4}, 0, 0}}, 1, receive::CloseReason::size,
                    20);
    end_all(rig);
    ASSERT_EQ(rig.events.size(), 2U);
    const TestEvent& event = rig.events[0];
    EXPECT_EQ(event.event_key, event_key(1, 100));
    EXPECT_EQ(event.fine_time, 10);
    EXPECT_EQ(event.flags, 0);
    EXPECT_EQ(event.missing_boards, 0U);
    EXPECT_THAT(event.hit_id, ElementsAre(1, 2, 3, 7, 8));
    // Board 0 is one tick and 10/256 after the event's time.
    EXPECT_THAT(event.hit_time_fine, ElementsAre(266, 266, 266, 0, 0));
    EXPECT_EQ(event.sent_ns, 40);
    EXPECT_EQ(event.kernel_ns, 910);
    EXPECT_EQ(event.placed_ns, 30);
    EXPECT_EQ(rig.events[1].sent_ns, 60) << "0 means unknown and does not count as earliest";
    EXPECT_TRUE(rig.completions.back().end_of_burst);
    rig.expect_balance();
}

TEST(Merger, WithoutStampsTheTimesAreUnknown) {
    MergerRig rig(two_boards());
    for (std::uint32_t board = 0; board < 2; ++board) {
        rig.source.has_stamps = true;
        rig.source.give(board, Fragments{{100, 0, {1}, 40, 900}});
        rig.source.has_stamps = false;
        rig.source.give(board, Fragments{{200, 0, {1}, 50, 901}});
    }
    end_all(rig);
    ASSERT_EQ(rig.events.size(), 2U);
    EXPECT_EQ(rig.events[0].sent_ns, 40);
    EXPECT_EQ(rig.events[0].kernel_ns, 900);
    EXPECT_EQ(rig.events[1].sent_ns, 0);
    EXPECT_EQ(rig.events[1].kernel_ns, 0);
}

TEST(Merger, SaturatesHitTimes) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100, 0, {1}, 0, 0, {-5}}});
    rig.source.give(1, Fragments{{102, 0, {2, 3, 4, 5, 6}, 0, 0, {32767, 32255, 32256, 0, -32768}}});
    end_all(rig);
    ASSERT_EQ(rig.events.size(), 1U);
    EXPECT_THAT(rig.events[0].hit_time_fine, ElementsAre(-5, 32767, 32767, 32767, 512, -32256));
}

TEST(Merger, WaitsForEveryBoardBeforeAnEventGoes) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100}, {200}});
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_built), 0U);
    rig.source.give(1, Fragments{{200}});  // board 1 is past 100: that event lacks it
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_built), 2U);
    EXPECT_EQ(rig.value(BuildCounter::events_incomplete), 1U);
    EXPECT_EQ(rig.merger.board_counters(1)[BoardCounter::missing], 1U);
    end_all(rig);
    ASSERT_EQ(rig.events.size(), 2U);
    EXPECT_EQ(rig.events[0].flags, EventFlag::incomplete);
    EXPECT_EQ(rig.events[0].missing_boards, 2U);
    rig.expect_balance();
}

TEST(Merger, DropsIncompleteEventsWhenToldTo) {
    MergerConfig config = two_boards();
    config.keep_incomplete = false;
    MergerRig rig(config);
    rig.source.give(0, Fragments{{100, 0, {1, 2}}, {200, 0, {3}}});
    rig.source.give(1, Fragments{{200, 0, {4}}});
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(200));
    EXPECT_EQ(rig.value(BuildCounter::events_rejected), 1U);
    EXPECT_EQ(rig.value(BuildCounter::hits_rejected), 2U);
    rig.expect_balance();
}

TEST(Merger, CountsWhatComesAfterItsEventHasGoneAsLate) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100}, {200}});
    rig.source.give(1, Fragments{{200}});
    rig.work();
    // 99 is before the last event (200); for board 1 the event at 100 has gone.
    rig.source.give(1, Fragments{{100, 0, {5}}, {199, 0, {6, 7}}, {300}});
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(100, 200, 300));
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 2U);
    EXPECT_EQ(rig.value(BuildCounter::hits_late), 3U);
    EXPECT_EQ(rig.merger.board_counters(1)[BoardCounter::fragments_late], 2U);
    rig.expect_balance();
}

TEST(Merger, AFragmentInsideTheWindowIsLateOnlyWhenItsBoardMissedTheEvent) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100}, {200}});
    rig.source.give(1, Fragments{{150}, {200}});
    rig.work();                                      // 100 without 1, 150 without 0, 200
    rig.source.give(0, Fragments{{201, 3}, {400}});  // close behind, but board 0 was in the last event: its own event
    rig.source.give(1, Fragments{{399}});
    rig.work();  // 201 without 1, 399+400 together
    rig.source.give(1, Fragments{{401}});
    rig.work();
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(100, 150, 200, 201, 399, 401));
    EXPECT_EQ(rig.value(BuildCounter::fragments_late), 0U);
    rig.expect_balance();

    MergerRig other(two_boards());
    other.source.give(0, Fragments{{100}, {200}});
    other.source.give(1, Fragments{{110}});
    other.work();  // 100 has gone without board 1, and 110 waits for board 1's next
    EXPECT_EQ(other.value(BuildCounter::events_built), 2U);
    other.source.give(1, Fragments{{112}});  // board 1 is in the last event: not late
    other.source.give(1, Fragments{{109}});  // earlier than the last event: late
    end_all(other);
    EXPECT_EQ(other.value(BuildCounter::fragments_late), 1U);
    EXPECT_THAT(times_of(other.events), ElementsAre(100, 110, 112, 200));
    other.expect_balance();
}

TEST(Merger, DropsDuplicatesWithinAndAcrossBlocks) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100, 1, {1}}, {100, 1, {1}}, {100, 1, {1}}, {200, 2, {2}}});
    rig.source.give(0, Fragments{{200, 2, {2}}, {300, 0, {3}}});
    rig.source.give(1, Fragments{{100}, {200}, {300}});
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(100, 200, 300));
    EXPECT_EQ(rig.value(BuildCounter::fragments_duplicate), 3U);
    EXPECT_EQ(rig.value(BuildCounter::hits_duplicate), 3U);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 3U);
    rig.expect_balance();
}

TEST(Merger, SameBoardAtAnotherTimeInTheWindowBeginsItsOwnEvent) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100, 1}, {100, 9}, {101, 0}});
    rig.source.give(1, Fragments{{100, 1}, {100, 9}, {101, 0}});
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(100, 100, 101));
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 3U);
    rig.expect_balance();
}

TEST(Merger, PutsUnsortedAndOverlappingBlocksInOrder) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{300, 0, {3}}, {100, 0, {1}}, {500, 0, {5}}});
    rig.source.give(0, Fragments{{200, 0, {2}}, {400, 0, {4}}, {600, 0, {6}}});
    rig.source.give(1, Fragments{{100}, {200}, {300}, {400}, {500}, {600}});
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(100, 200, 300, 400, 500, 600));
    for (std::uint16_t i = 0; i < 6; ++i) EXPECT_THAT(rig.events[i].hit_id, ElementsAre(i + 1));
    EXPECT_EQ(rig.value(BuildCounter::blocks_unsorted), 1U);
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 6U);
    rig.expect_balance();
}

TEST(Merger, GoesOnWhereTimestampsWrap) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{0xfffffff0}, {0xffffffff}, {5}});
    rig.source.give(1, Fragments{{0xfffffff0}, {0}, {5}});
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(0xfffffff0, 0xffffffff, 5));
    EXPECT_EQ(rig.value(BuildCounter::events_complete), 3U);
    rig.expect_balance();
}

TEST(Merger, TruncatesAnEventThatNoBatchHolds) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100, 0, std::vector<std::uint16_t>(40, 1)}, {200, 0, {2}}});
    rig.source.give(1, Fragments{{100, 0, std::vector<std::uint16_t>(40, 3)}, {200, 0, {4}}});
    end_all(rig);
    ASSERT_EQ(rig.events.size(), 2U);
    EXPECT_EQ(rig.events[0].flags, EventFlag::truncated);
    EXPECT_EQ(rig.events[0].hit_id.size(), 64U);
    EXPECT_EQ(rig.value(BuildCounter::hits_truncated), 16U);
    EXPECT_EQ(rig.value(BuildCounter::events_truncated), 1U);
    EXPECT_THAT(rig.events[1].hit_id, ElementsAre(2, 4));
    EXPECT_EQ(rig.events[1].flags, 0);
    rig.expect_balance();
}

TEST(Merger, TellsHowLongABatchTook) {
    MergerConfig config = two_boards();
    config.close_when_idle = false;
    MergerRig rig(config);
    rig.source.when_taken = [&] { rig.clock.advance(500); };
    rig.source.give(0, Fragments{{100}});
    rig.source.give(1, Fragments{{100}});
    rig.work();
    rig.source.when_taken = [] {};
    end_all(rig);
    ASSERT_EQ(rig.completions.size(), 1U);
    EXPECT_EQ(rig.completions[0].build_cpu_ns, 1000);
}

TEST(Merger, ClosesBatchesByEventsHitsAndTime) {
    MergerConfig config = two_boards();
    config.batch = {.max_events = 3, .max_hits = 10};
    config.close_when_idle = false;
    MergerRig rig(config);
    Fragments fragments;
    for (std::uint32_t i = 1; i <= 4; ++i) fragments.push_back({i * 100});
    fragments.push_back({500, 0, std::vector<std::uint16_t>(6, 1)});
    fragments.push_back({600, 0, std::vector<std::uint16_t>(6, 1)});
    rig.source.give(0, fragments);
    rig.source.give(1, fragments);
    rig.work();
    ASSERT_EQ(rig.completions.size(), 3U);
    EXPECT_EQ(rig.completions[0].n_events, 3U) << "closed by events";
    EXPECT_EQ(rig.completions[1].n_events, 1U) << "closed by hits: 12 more do not fit";
    EXPECT_EQ(rig.completions[2].n_events, 1U);
    EXPECT_EQ(rig.merger.do_work(), 0U);
    rig.clock.advance(config.batch_time_ns);
    rig.work();
    ASSERT_EQ(rig.completions.size(), 4U) << "closed by time";
    EXPECT_FALSE(rig.completions[3].end_of_burst);
}

/// The boards' clocks differ a little, one is wrong, one missed the start: the merger takes the middle of the known
/// ones.
TEST(Merger, TellsWhenTheBurstBegan) {
    MergerRig rig({.n_boards = 5, .close_when_idle = true});
    constexpr std::array<Nanoseconds, 5> told{1'000'020, 77, 0, 1'000'000, 1'000'010};
    for (std::uint32_t board = 0; board < 5; ++board) {
        rig.source.burst_origin_ns = told[board];
        rig.source.give(board, {{100}});
    }
    rig.work();
    rig.source.burst_origin_ns = 0;
    for (std::uint32_t board = 0; board < 5; ++board) rig.source.end(board);
    for (std::uint32_t board = 0; board < 5; ++board) rig.source.give(board, {{100}}, 2);
    rig.work();
    ASSERT_EQ(rig.completions.size(), 3U);
    EXPECT_EQ(rig.completions[0].burst_origin_ns, 1'000'010);  // of 77, 1,000,000, 1,000,010, 1,000,020
    EXPECT_EQ(rig.completions[1].burst_origin_ns, 1'000'010);
    EXPECT_EQ(rig.completions[2].burst_origin_ns, 0) << "not that of the burst before";
}

TEST(Merger, ClosesWhenIdle) {
    MergerRig rig(two_boards());
    rig.source.give(0, Fragments{{100}});
    rig.source.give(1, Fragments{{100}});
    rig.work();
    EXPECT_EQ(rig.completions.size(), 1U);
}

TEST(Merger, WithoutAFreeBatchItStopsAndLosesNothing) {
    MergerConfig config = two_boards();
    config.batch.max_events = 1;
    MergerRig rig(config, 2);
    rig.take_batches = false;
    rig.source.give(0, Fragments{{100}, {200}, {300}, {400}});
    rig.source.give(1, Fragments{{100}, {200}, {300}, {400}});
    rig.work();
    rig.work();
    EXPECT_EQ(rig.value(BuildCounter::events_out), 2U);
    EXPECT_EQ(rig.value(BuildCounter::stalls_no_buffer), 1U) << "one stall, however often it is looked at";
    rig.pass(10 * config.timeout_ns);
    EXPECT_EQ(rig.value(BuildCounter::boards_silenced), 0U);
    rig.take_batches = true;
    rig.read_batches();
    end_all(rig);
    EXPECT_THAT(times_of(rig.events), ElementsAre(100, 200, 300, 400));
    rig.expect_balance();
}

TEST(Merger, ConfigurationErrorsNameTheField) {
    MergerConfig config = two_boards();
    config.n_boards = 33;
    try {
        config.validate();
        FAIL() << "33 boards were accepted";
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.field(), "n_boards");
    }
    config = two_boards();
    config.window_ticks = 101;
    EXPECT_THROW(MergerRig{config}, ConfigError);
}

TEST(EventBatch, ColumnsLieApartInsideTheBuffer) {
    const BatchShape shape{.max_events = 5, .max_hits = 7};
    std::vector<std::byte> buffer(batch_bytes(shape) + 64);
    void* start = buffer.data();
    std::size_t space = buffer.size();
    std::align(64, batch_bytes(shape), start, space);
    const std::span<std::byte> bytes(static_cast<std::byte*>(start), batch_bytes(shape));
    const BatchColumns c = columns_of(bytes, shape);
    std::fill_n(c.event_key, 5, ~0ULL);
    std::fill_n(c.hit_offset, 6, 1U);
    std::fill_n(c.fine_time, 5, std::uint8_t{2});
    std::fill_n(c.flags, 5, std::uint8_t{3});
    std::fill_n(c.hit_id, 7, std::uint16_t{4});
    std::fill_n(c.hit_time_fine, 7, std::int16_t{5});
    EXPECT_EQ(c.event_key[4], ~0ULL);
    EXPECT_EQ(c.hit_offset[5], 1U);
    EXPECT_EQ(c.fine_time[4], 2);
    EXPECT_EQ(c.flags[4], 3);
    EXPECT_EQ(c.hit_id[6], 4);
    EXPECT_LE(reinterpret_cast<std::byte*>(c.hit_time_fine + 7), bytes.data() + bytes.size());
}

}  // namespace
}  // namespace anello::events::test

// SPDX-License-Identifier: Apache-2.0
// Builders merge complete packets of the RICH's boards at several readout units. Their events must be those of an
// events::Merger that has all boards.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <tuple>

#include "rich/tests/exchange_farm_rig.hpp"
#include "unit/exchange/fake_fabric.hpp"

namespace anello::rich::test::exchange_farm_test {

using namespace exchange;
using exchange::test::Dice;
namespace {

using events::BuildCounter;
using events::test::MergerRig;
using events::test::TestEvent;
using Streams = std::vector<Fragments>;  ///< fragments of each board

std::vector<std::uint64_t> keys_of(const std::vector<TestEvent>& events) {
    std::vector<std::uint64_t> keys;
    for (const TestEvent& event : events) keys.push_back(event.event_key);
    return keys;
}

std::uint64_t key(std::uint32_t ticks, std::uint32_t burst_id = 1) {
    return events::event_key(burst_id, ticks);
}

// --- One thing at a time ------------------------------------------------------------------------------------------
TEST(RichFarm, AnEventAcrossThePacketsEdgeIsBuiltOnce) {
    RichRig rig({});
    const auto edge = static_cast<std::uint32_t>(rig.config.frames.mep_ticks());
    rig.give(0, {{10}, {edge - 1, 200, {1, 2}}});
    rig.give(1, {{10}, {edge, 3, {3}}});
    rig.give(2, {{10}, {edge - 1, 201, {4}}});
    rig.give(3, {{10}, {edge, 4, {5, 6}}});
    rig.end_all();
    rig.work();
    EXPECT_EQ(keys_of(rig.events), (std::vector{key(10), key(edge - 1)}));
    EXPECT_EQ(rig.events.at(1).hit_id, (std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(rig.events.at(1).missing_boards, 0U);
    EXPECT_EQ(rig.merged(MepMergeCounter::fragments_from_next), 2U);
    EXPECT_EQ(rig.merged(MepMergeCounter::fragments_to_previous), 2U);
    EXPECT_EQ(rig.merged(MepMergeCounter::hits_to_previous), 3U);
    EXPECT_EQ(rig.merged(MepMergeCounter::edges_unsure), 0U);
    rig.expect_balance();
}

/// Two events are separate if the second's fragments come more than a window after the first's.
TEST(RichFarm, OnlyAPauseBeforeItsEdgeMakesAPacketSure) {
    const auto n_unsure = [](std::uint32_t step_ticks) {
        RichRig rig({});
        const auto edge = static_cast<std::uint32_t>(rig.config.frames.mep_ticks());
        Fragments fragments;
        for (std::uint32_t ticks = edge % step_ticks; ticks < edge + 10; ticks += step_ticks)
            fragments.push_back({ticks});
        rig.give(0, fragments);
        rig.end_all();
        rig.work();
        EXPECT_EQ(rig.events.size(), fragments.size());
        return rig.merged(MepMergeCounter::edges_unsure);
    };
    const std::uint32_t window_ticks = events::MergerConfig{}.window_ticks;
    EXPECT_EQ(n_unsure(window_ticks), 1U);
    EXPECT_EQ(n_unsure(window_ticks + 1), 0U);
}

TEST(RichFarm, ABoardThatIsSilentIsWaitedForOnceAndMissing) {
    RichRig rig({});
    const auto later = static_cast<std::uint32_t>(rig.config.frames.mep_ticks()) + 50;
    for (std::uint32_t board = 0; board < 3; ++board) rig.give(board, {{10}, {later}});
    rig.work();
    EXPECT_EQ(rig.sources[0]->ring.passed(), 1U);
    EXPECT_EQ(rig.sources[1]->ring.passed(), 0U) << "its second board may still have something";
    EXPECT_TRUE(rig.events.empty());
    rig.pass(rig.config.boards.timeout_ns);
    ASSERT_EQ(keys_of(rig.events), std::vector{key(10)});
    EXPECT_EQ(rig.events[0].missing_boards, 8U);
    EXPECT_EQ(rig.events[0].flags, events::EventFlag::incomplete);
    EXPECT_EQ(rig.sources[1]->framer.counters()[BuildCounter::boards_silenced], 1U);
    EXPECT_EQ(rig.sources[1]->framer.status(1).state, events::BoardState::silent);
    for (std::uint32_t board = 0; board < 3; ++board) rig.end(board);
    rig.work();
    EXPECT_EQ(keys_of(rig.events), (std::vector{key(10), key(later)}));
    EXPECT_EQ(rig.next_mep, rig.config.frames.meps_per_burst) << "the burst ends without it";
    rig.expect_balance();
}

TEST(RichFarm, WhatComesTooLateIsCountedAndItsBoardIsTakenInAgain) {
    RichRig rig({});
    const auto later = static_cast<std::uint32_t>(rig.config.frames.mep_ticks()) + 50;
    for (std::uint32_t board = 0; board < 3; ++board) rig.give(board, {{10}, {later}});
    rig.work();
    rig.pass(rig.config.boards.timeout_ns);
    rig.give(3, {{10, 0, {7}}, {later, 0, {8}}});
    rig.end_all();
    rig.work();
    EXPECT_EQ(rig.joined(BuildCounter::fragments_late), 1U);
    EXPECT_EQ(rig.joined(BuildCounter::hits_late), 1U);
    ASSERT_EQ(keys_of(rig.events), (std::vector{key(10), key(later)}));
    EXPECT_EQ(rig.events[0].missing_boards, 8U);
    EXPECT_EQ(rig.events[1].missing_boards, 0U);
    EXPECT_EQ(rig.events[1].hit_id, std::vector<std::uint16_t>{8});
    rig.expect_balance();
}

TEST(RichFarm, AnEndedBurstGivesAllItsPacketsAndTheNextBeginsBehindThem) {
    RichRig rig({});
    const std::uint32_t n = rig.config.frames.meps_per_burst;
    const auto burst_ticks = static_cast<std::uint32_t>(rig.config.frames.burst_ticks());
    for (std::uint32_t board = 0; board < 4; ++board) {
        rig.give(board, {{5}, {burst_ticks - 1}, {burst_ticks, 0, {1, 2}}});
        rig.end(board);
        rig.give(board, {{5}}, 2);
        rig.end(board, 2);
    }
    rig.work();
    EXPECT_EQ(keys_of(rig.events), (std::vector{key(5), key(burst_ticks - 1), key(5, 2)}));
    EXPECT_EQ(rig.next_mep, 2 * n);
    EXPECT_EQ(rig.framed(FramerCounter::mfps), 2 * 2 * n) << "empty ones too";
    EXPECT_EQ(rig.framed(FramerCounter::fragments_beyond_burst), 4U);
    rig.expect_balance();
}

TEST(RichFarm, BurstsThatCannotBeAreCounted) {
    RichRig rig({});
    for (std::uint32_t board = 0; board < 4; ++board) {
        rig.give(board, {{5}}, 0);  // before the first packet
        rig.end(board, 0);
        rig.give(board, {{5}}, 1);
        rig.end(board, 1);
    }
    rig.work();
    EXPECT_EQ(keys_of(rig.events), std::vector{key(5)});
    EXPECT_EQ(rig.framed(FramerCounter::fragments_of_unknown_burst), 4U);
    rig.expect_balance();
}

TEST(RichFarm, ANodeThatBeginsLaterAndARunThatEndsLeaveOutTheRest) {
    RichRigConfig config;
    config.n_boards_of = {4};
    RichRig rig(config);
    const auto mep_ticks = static_cast<std::uint32_t>(rig.config.frames.mep_ticks());
    rig.sources[0]->ring.begin_at(2);
    rig.sources[0]->ring.end_at(4);
    for (std::uint32_t board = 0; board < 4; ++board)
        rig.give(board, {{10}, {2 * mep_ticks + 10}, {3 * mep_ticks + 10}, {4 * mep_ticks + 10}});
    rig.end_all();
    rig.work();
    EXPECT_EQ(keys_of(rig.events), (std::vector{key(2 * mep_ticks + 10), key(3 * mep_ticks + 10)}));
    EXPECT_EQ(rig.framed(FramerCounter::fragments_before_start), 4U);
    EXPECT_EQ(rig.framed(FramerCounter::fragments_after_end), 4U);
    EXPECT_EQ(rig.framed(FramerCounter::mfps), 2U);
    rig.expect_balance();
}

TEST(RichFarm, WithoutAFreeBufferNothingIsTakenAndNothingIsLost) {
    RichRigConfig config;
    config.n_buffers = 2;
    RichRig rig(config);
    for (std::uint32_t board = 0; board < 2; ++board) {  // the other source's boards have sent nothing yet
        rig.give(board, {{10}});
        rig.end(board);
    }
    rig.work();
    EXPECT_EQ(rig.sources[0]->ring.passed(), 2U);
    EXPECT_GT(rig.framed(FramerCounter::waits_for_room), 0U);
    for (std::uint32_t board = 2; board < 4; ++board) {
        rig.give(board, {{10}});
        rig.end(board);
    }
    rig.work();
    EXPECT_EQ(rig.next_mep, rig.config.frames.meps_per_burst);
    EXPECT_EQ(keys_of(rig.events), std::vector{key(10)});
    rig.expect_balance();
}

TEST(RichFarm, WhatFindsNoRoomInAPacketIsCountedOnceAndNotAsOverlap) {
    RichRig rig({});
    const auto edge = static_cast<std::uint32_t>(rig.config.frames.mep_ticks());
    const std::vector<std::uint16_t> most(RichRig::mfp_bytes / 4 - 100), many(100);
    rig.give(0, {{edge - 2, 0, most}, {edge - 2, 1, many}, {edge, 0, many}});
    rig.end_all();
    rig.work();
    EXPECT_EQ(rig.framed(FramerCounter::fragments), 1U);
    EXPECT_EQ(rig.framed(FramerCounter::fragments_no_room), 2U) << "the first fills the next packet's overlap, too";
    EXPECT_EQ(rig.framed(FramerCounter::fragments_overlapping), 1U);
    rig.expect_balance();
}

/// A packet as a readout unit writes it, with any records.
std::vector<std::byte> packet_with(const RichFrames& frames, std::uint64_t mep,
                                   const std::vector<wire::rich_frame::Record>& records) {
    std::vector<std::byte> bytes(RichRig::mfp_bytes);
    wire::mfp::Writer writer(bytes, {.alignment_log2 = 2,
                                     .n_fragments = static_cast<std::uint16_t>(frames.packing),
                                     .run_id = 1,
                                     .first_event = mep * frames.packing});
    const std::span<std::byte> first =
        writer.add(static_cast<std::uint32_t>(records.size() * wire::rich_frame::record_header_bytes));
    for (std::size_t i = 0; i < records.size(); ++i)
        wire::rich_frame::write(records[i], first.data() + i * wire::rich_frame::record_header_bytes);
    for (std::uint32_t i = 1; i < frames.packing; ++i) writer.add(0);
    bytes.resize(writer.finish());
    return bytes;
}

TEST(RichFarm, RecordsThatCannotBeAreCountedAndLeftOut) {
    RichRig rig({});
    const RichFrames& frames = rig.config.frames;
    constexpr std::uint64_t mep = 2;
    const auto begin = static_cast<std::uint32_t>(frames.begin_ticks(mep)),
               end = begin + static_cast<std::uint32_t>(frames.mep_ticks());
    const auto packet = packet_with(frames, mep,
                                    {{.timestamp_ticks = begin, .board = 0},
                                     {.timestamp_ticks = begin, .board = 4},  // there are only four
                                     {.timestamp_ticks = begin, .board = 255},
                                     {.timestamp_ticks = begin - frames.overlap_ticks() - 1, .board = 1},
                                     {.timestamp_ticks = end + frames.window_ticks + 1, .board = 2},
                                     {.timestamp_ticks = begin + 1, .board = 3},
                                     {.timestamp_ticks = begin, .board = 3}});  // earlier than the one before
    const std::array<std::span<const std::byte>, 1> mfps{packet};
    rig.builders[0]->merger.begin({.mep = mep, .n_events = frames.packing, .mfps = mfps});
    EXPECT_EQ(rig.merged(MepMergeCounter::fragments_wrong), 5U);
    EXPECT_EQ(rig.merged(MepMergeCounter::fragments_in), 2U);
    EXPECT_TRUE(rig.builders[0]->merger.try_complete());
}

/// The frames carry the boards' origins: the median of each readout unit's boards, and then the median of these.
TEST(RichFarm, WhenTheBurstBeganIsTold) {
    RichRig rig({.n_boards_of = {2, 1, 1}});
    const Nanoseconds now_ns = rig.clock.wall_ns();
    const std::array<Nanoseconds, 4> told{now_ns + 10, now_ns + 30, now_ns + 20, now_ns + 900'000};
    for (std::uint32_t board = 0; board < 4; ++board) {
        rig.origin_of(board) = told[board];
        rig.give(board, {{100, 5}});
    }
    rig.end_all();
    for (std::uint32_t board = 0; board < 4; ++board) {
        rig.origin_of(board) = 0;
        rig.give(board, {{100, 5}}, 2);
    }
    rig.end_all(2);
    ASSERT_TRUE(rig.finish());
    EXPECT_EQ(rig.origins, (std::vector<Nanoseconds>{now_ns + 30, 0})) << "the second burst's is not known";
}

TEST(RichFarm, ABeginningThatCannotBeIsCountedAndLeftOut) {
    RichRig rig({});
    const RichFrames& frames = rig.config.frames;
    constexpr Nanoseconds largest = std::numeric_limits<Nanoseconds>::max();
    const auto begin = static_cast<std::uint32_t>(frames.begin_ticks(2));
    std::vector<wire::rich_frame::Record> records;
    for (const Nanoseconds wall_ns : {largest, -largest, rig.clock.wall_ns() + 86'400'000'000'000})
        records.push_back(wire::rich_frame::origin_record(wall_ns));
    for (int i = 0; i < 5; ++i) records.push_back(wire::rich_frame::origin_record(rig.clock.wall_ns()));
    records.push_back({.timestamp_ticks = begin, .board = 0});
    const auto packet = packet_with(frames, 2, records);
    const std::array<std::span<const std::byte>, 1> mfps{packet};
    rig.builders[0]->merger.begin({.mep = 2, .n_events = frames.packing, .mfps = mfps});
    EXPECT_EQ(rig.merged(MepMergeCounter::fragments_wrong), 4U) << "and one more than there are boards";
    EXPECT_TRUE(rig.builders[0]->merger.try_complete());
}

TEST(RichFarm, WhoIsAbandonedCountsWhatIsLeft) {
    RichRigConfig config;
    config.n_buffers = 2;
    RichRig rig(config);
    const auto mep_ticks = static_cast<std::uint32_t>(rig.config.frames.mep_ticks());
    rig.give(0, {{10}, {3 * mep_ticks + 10}, {6 * mep_ticks + 10}});
    rig.end(0);
    rig.end(1);
    rig.work();
    rig.sources[0]->framer.abandon();
    rig.work();
    EXPECT_EQ(rig.framed(FramerCounter::fragments), 1U);
    EXPECT_EQ(rig.framed(FramerCounter::fragments_left), 2U);
}

// --- Against the merger that has all boards -----------------------------------------------------------------------
RichRigConfig random_config(Dice& dice) {
    RichRigConfig config;
    events::MergerConfig& boards = config.boards;
    boards.n_boards = 1 + dice.below(6);
    boards.window_ticks = dice.below(4);
    boards.batch = {.max_events = 1 + dice.below(20), .max_hits = 100 + dice.below(100)};
    boards.blocks_per_board = 2 + dice.below(5);
    boards.keep_incomplete = !dice.one_in(4);
    config.frames.window_ticks = boards.window_ticks;
    config.frames.packing = 1 + dice.below(6);
    // Packets are as short as possible, so that many events lie across an edge.
    config.frames.frame_ticks = 4 * config.frames.overlap_ticks() / config.frames.packing + 1 + dice.below(20);
    config.n_boards_of.clear();
    for (std::uint32_t n_left = boards.n_boards; n_left > 0; n_left -= config.n_boards_of.back())
        config.n_boards_of.push_back(1 + dice.below(n_left));
    config.n_builders = 1 + dice.below(3);
    config.n_buffers = 2 + dice.below(4);
    return config;
}

/// The boards' fragments of a burst's events: sorted by time, with losses, and with jitter within the window.
Streams random_burst(Dice& dice, const events::MergerConfig& config, std::uint32_t n_events) {
    Streams streams(config.n_boards);
    std::uint16_t number = 0;
    for (std::uint32_t i = 0, time = dice.below(40); i < n_events; ++i, time += dice.below(40))
        for (Fragments& stream : streams) {
            if (dice.one_in(8)) continue;
            std::uint32_t at = time + dice.below(config.window_ticks + 1);
            if (!stream.empty()) at = std::max(at, stream.back().timestamp_ticks);
            events::test::TestFragment fragment{at, static_cast<std::uint8_t>(dice.below(256))};
            if (!stream.empty() && at == stream.back().timestamp_ticks)
                fragment.fine_time = std::max(fragment.fine_time, stream.back().fine_time);
            for (std::uint32_t hit = dice.below(8); hit > 0; --hit) {
                fragment.hit_id.push_back(number++);
                fragment.hit_time_fine.push_back(static_cast<std::int16_t>(dice.below(600)) - 300);
            }
            fragment.sent_ns = 9'000'000'000 + time;
            fragment.kernel_ns = dice.one_in(4) ? 0 : fragment.sent_ns + 1 + dice.below(1000);
            stream.push_back(fragment);
        }
    return streams;
}

/// Gives the fragments to both, in random pieces and in random order of boards; the ends come last.
void feed(Dice& dice, RichRig& farm, MergerRig& alone, const Streams& streams, std::uint32_t burst_id) {
    std::vector<std::size_t> next(streams.size());
    std::size_t n_left = 0;
    for (const Fragments& stream : streams) n_left += stream.size();
    while (n_left > 0) {
        const std::uint32_t board = dice.below(static_cast<std::uint32_t>(streams.size()));
        const std::size_t n = std::min<std::size_t>(1 + dice.below(9), streams[board].size() - next[board]);
        if (n == 0) continue;
        const auto begin = streams[board].begin() + static_cast<std::ptrdiff_t>(next[board]);
        const Fragments block(begin, begin + static_cast<std::ptrdiff_t>(n));
        farm.give(board, block, burst_id);
        alone.source.give(board, block, burst_id);
        next[board] += n;
        n_left -= n;
        if (dice.one_in(2)) farm.work();
        if (dice.one_in(2)) alone.work();
    }
    farm.end_all(burst_id);
    for (std::uint32_t board = 0; board < streams.size(); ++board) alone.source.end(board, burst_id);
}

/// All of an event but the placing times of its fragments: in a farm these are the times of their packet.
auto content_of(const TestEvent& event) {
    return std::tie(event.event_key, event.fine_time, event.hit_id, event.hit_time_fine, event.missing_boards,
                    event.flags, event.sent_ns, event.kernel_ns);
}

TEST(RichFarm, BuildsWhatOneMergerBuildsForAnySplitOfBoards) {
    const bool holds = rc::check("events, times, hits and stamps are the same", [](std::uint32_t seed) {
        Dice dice(seed);
        RichRigConfig config = random_config(dice);
        const std::uint32_t n_bursts = 1 + dice.below(2), n_events = dice.below(120);
        // There must be room for the last event and its jitter.
        config.frames.meps_per_burst =
            static_cast<std::uint32_t>((n_events + 1) * 41 / config.frames.mep_ticks()) + 1 + dice.below(2);
        RichRig farm(config);
        MergerRig alone(config.boards);
        for (std::uint32_t burst = 0; burst < n_bursts; ++burst)
            feed(dice, farm, alone, random_burst(dice, config.boards, n_events), 1 + burst);
        RC_ASSERT(farm.finish());
        RC_ASSERT(alone.finish());
        farm.expect_balance();
        RC_ASSERT(!::testing::Test::HasFailure());
        RC_PRE(farm.merged(MepMergeCounter::edges_unsure) == 0U);
        // A board almost alone in a burst counts as wrong, which happens more with few boards: skips such cases.
        RC_PRE(farm.joined(BuildCounter::fragments_ahead) == 0U && alone.value(BuildCounter::fragments_ahead) == 0U);
        RC_CLASSIFY(farm.merged(MepMergeCounter::fragments_from_next) > 0U, "events across an edge");
        RC_ASSERT(farm.events.size() == alone.events.size());
        for (std::size_t i = 0; i < alone.events.size(); ++i)
            RC_ASSERT(content_of(farm.events[i]) == content_of(alone.events[i]));
        using enum BuildCounter;
        for (const BuildCounter counter : {events_complete, events_incomplete, events_rejected, hits_merged})
            RC_ASSERT(farm.built(counter) == alone.value(counter));
    });
    EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace anello::rich::test::exchange_farm_test

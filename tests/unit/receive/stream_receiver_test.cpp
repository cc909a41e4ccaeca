// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/stream_receiver.hpp"

#include <gmock/gmock.h>

#include "core/errors.hpp"
#include "unit/receive/stream_rig.hpp"

namespace anello::receive::stream_receiver_test {
namespace {

using test::Bytes;
using test::MgpSender;
using test::StreamRig;
using test::TakenBlock;
using enum ReceiveCounter;
using wire::mgp::end_of_burst;
using wire::mgp::start_of_burst;

TEST(StreamReceiver, HandsOnWhenTheGatheringTimeIsOverAndNotBefore) {
    StreamRig rig({.gathering_time_ns = 1000});
    MgpSender board(7);
    rig.clock.set(5000);
    rig.send(board.data(3));
    rig.clock.set(5400);
    rig.send(board.data(2));  // does not prolong it
    rig.receiver->on_time(5999);
    EXPECT_TRUE(rig.take_all().empty());
    rig.clock.set(6000);
    rig.receiver->on_time(6000);
    const auto blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 1U);
    const Completion& block = blocks[0].completion;
    EXPECT_EQ(block.reason, CloseReason::gathering_time);
    EXPECT_EQ(block.n_fragments, 5U);
    EXPECT_EQ(block.n_packets, 2U);
    EXPECT_EQ(block.stream, 3U);
    EXPECT_EQ(block.opened_ns, 5000);
    EXPECT_EQ(block.closed_ns, 6000);
    EXPECT_TRUE(block.sorted);
    EXPECT_EQ(blocks[0].packets[1].first_fragment, 3U);
    EXPECT_EQ(blocks[0].packets[1].sequence, 1U);
    EXPECT_EQ(blocks[0].packets[1].sent_ns, 1001);
    EXPECT_EQ(blocks[0].packets[1].kernel_ns, 5400);
    rig.receiver->on_time(100'000);
    EXPECT_TRUE(rig.take_all().empty()) << "an empty block has no gathering time";
}

/// Blocks carry the time that the start of their own burst has announced.
TEST(StreamReceiver, TellsWhenItsBurstBegan) {
    StreamRig rig({.gathering_time_ns = 0});
    MgpSender board(7);
    rig.send(board.data(1));
    board.begin_burst(1);
    rig.send(board.marker(start_of_burst));  // its stamp: 1002
    rig.send(board.data(1));
    board.begin_burst(2);
    rig.send(board.data(1));  // of a burst whose start was lost
    rig.receiver->finish();
    std::vector<Nanoseconds> origins;
    for (const auto& block : rig.take_all())
        if (block.completion.n_packets > 0) origins.push_back(block.completion.burst_origin_ns);
    EXPECT_THAT(origins, testing::ElementsAre(0, 1002, 0));
}

/// A board's clock may be wrong, and its packets may hold wrong times.
TEST(StreamReceiver, BelievesNoBurstThatBeganOnAnotherDay) {
    for (const auto [now_ns, is_believed] : {std::pair{Nanoseconds{5000}, true},
                                             {Nanoseconds{86'400'000'000'000}, true},
                                             {Nanoseconds{86'400'000'002'000}, false},
                                             {Nanoseconds{1'700'000'000'000'000'000}, false}}) {
        StreamRig rig({.gathering_time_ns = 0});
        MgpSender board(7);
        rig.clock.set(now_ns);
        board.begin_burst(1);
        rig.send(board.marker(start_of_burst));  // its stamp: 1001
        rig.send(board.data(1));
        rig.receiver->finish();
        const auto blocks = rig.take_all();
        ASSERT_FALSE(blocks.empty());
        EXPECT_EQ(blocks.back().completion.burst_origin_ns, is_believed ? 1001 : 0) << now_ns;
    }
}

TEST(StreamReceiver, ADatagramThatDoesNotFitOpensTheNextBlock) {
    for (const BlockShape shape : {BlockShape{.max_fragments = 10, .max_hits = 1000, .max_packets = 100},
                                   BlockShape{.max_fragments = 100, .max_hits = 80, .max_packets = 100}}) {
        StreamRig rig({}, shape);
        MgpSender board(7);
        for (int i = 0; i < 6; ++i) rig.send(board.data(4));
        rig.receiver->finish();
        const auto blocks = rig.take_all();
        ASSERT_GE(blocks.size(), 3U);
        EXPECT_EQ(blocks[0].completion.reason, CloseReason::size);
        EXPECT_EQ(blocks.back().completion.reason, CloseReason::stop);
        EXPECT_EQ(rig.n_packets, 6U);
        EXPECT_EQ(rig.n_wrong_fragments, 0U);
    }
}

TEST(StreamReceiver, ABlockIsFullAtItsNumberOfPackets) {
    StreamRig rig({}, {.max_fragments = 100, .max_hits = 1000, .max_packets = 2});
    MgpSender board(7);
    rig.send(board.data(1));
    EXPECT_EQ(rig[blocks_by_size], 0U);
    rig.send(board.data(1));
    EXPECT_EQ(rig[blocks_by_size], 1U);
}

TEST(StreamReceiver, APacketThatNoBlockCanHoldIsAVerdict) {
    StreamRig rig({}, {.max_fragments = 4, .max_hits = 1000, .max_packets = 8});
    MgpSender board(7);
    rig.send(board.data(2));
    rig.send(board.data(5));
    rig.send(board.data(2));
    EXPECT_EQ(rig[wire::Verdict::too_many_hits], 1U);
    EXPECT_EQ(rig[packets], 2U);
    EXPECT_EQ(rig[lost_sequences], 1U);
}

TEST(StreamReceiver, WhatIsDroppedForWantOfABufferIsCountedAtEveryLevel) {
    StreamRig rig({.full_policy = FullPolicy::drop_new}, {}, 2);
    MgpSender board(7);
    std::vector<TakenBlock> taken;
    while (rig[dropped_packets] < 3) {
        board.begin_burst(0, board.ticks());
        rig.send(board.data(30));
    }
    rig.send(board.marker(end_of_burst));
    for (TakenBlock block; rig.try_take(block);) rig.receiver->on_time(0);
    EXPECT_EQ(rig[dropped_packets], 3U);
    EXPECT_EQ(rig[dropped_fragments], 90U);
    EXPECT_GT(rig[dropped_hits], 0U);
    EXPECT_EQ(rig[hits] + rig[dropped_hits], board.totals().n_hits);
    EXPECT_EQ(rig[fragments] + rig[dropped_fragments], board.totals().n_events);
}

TEST(StreamReceiver, NothingOfAMalformedDatagramStays) {
    StreamRig rig;
    MgpSender board(7, 0);
    rig.send(board.data(3));
    Bytes wrong = board.data(5);
    wrong.pop_back();
    rig.send(wrong);
    wrong = board.data(5);
    wrong[10] = std::byte{4};  // announces 4 events
    rig.send(wrong);
    rig.send(MgpSender(8).data(2));
    const Bytes longer = board.data(1);
    rig.receiver->on_datagram({.bytes = longer, .stream = 3, .cut = true, .kernel_ns = 0, .source = test::own_source});
    rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    const auto blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].completion.n_fragments, 4U);
    EXPECT_EQ(rig[wire::Verdict::wrong_length], 2U);
    EXPECT_EQ(rig[wire::Verdict::wrong_event_count], 1U);
    EXPECT_EQ(rig[wire::Verdict::unknown_source], 1U);
    EXPECT_EQ(rig[lost_sequences], 3U);
    rig.expect_balance();
}

TEST(StreamReceiver, TheEndOfABurstIsToldOnce) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(11);
    rig.send(board.marker(start_of_burst));
    rig.send(board.marker(start_of_burst));
    rig.send(board.data(2));
    const Bytes end = board.marker(end_of_burst);
    for (int i = 0; i < 3; ++i) rig.send(end);
    board.begin_burst(12);
    rig.send(board.marker(start_of_burst));
    rig.send(board.data(1));
    rig.send(end);  // one that was held up
    rig.send(board.marker(end_of_burst));
    const auto blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 2U);
    for (std::uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(blocks[i].completion.reason, CloseReason::end_of_burst);
        EXPECT_EQ(blocks[i].completion.burst_id, 11 + i);
    }
    EXPECT_EQ(rig[bursts_ended], 2U);
    EXPECT_EQ(rig[repeated_markers], 4U);
    rig.expect_balance();
}

TEST(StreamReceiver, AnEmptyBurstEndsToo) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(4);
    rig.send(board.marker(start_of_burst));
    rig.send(board.marker(end_of_burst));
    const auto blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].completion.n_fragments, 0U);
    EXPECT_EQ(blocks[0].completion.burst_id, 4U);
    EXPECT_EQ(blocks[0].completion.reason, CloseReason::end_of_burst);
}

TEST(StreamReceiver, TheNextBurstEndsAnUnendedOne) {
    for (const bool with_marker : {true, false}) {
        StreamRig rig;
        MgpSender board(7);
        board.begin_burst(1);
        rig.send(board.data(2));
        board.begin_burst(2);
        if (with_marker) rig.send(board.marker(start_of_burst));
        rig.send(board.data(3));
        rig.receiver->finish();
        const auto blocks = rig.take_all();
        ASSERT_EQ(blocks.size(), 2U);
        EXPECT_EQ(blocks[0].completion.burst_id, 1U);
        EXPECT_EQ(blocks[0].completion.reason, CloseReason::end_of_burst);
        EXPECT_EQ(blocks[0].completion.n_fragments, 2U);
        EXPECT_EQ(blocks[1].completion.burst_id, 2U);
        EXPECT_EQ(blocks[1].completion.reason, CloseReason::stop);
    }
}

TEST(StreamReceiver, ALatePacketOfTheOldBurstGetsABlockOfItsOwn) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(1);
    rig.send(board.data(1));
    const Bytes late = board.data(1);
    const Bytes end = board.marker(end_of_burst);
    board.begin_burst(2);
    rig.send(board.data(2));
    rig.send(late);
    rig.send(end);
    rig.send(board.data(2));
    rig.receiver->finish();
    std::vector<std::uint32_t> bursts;
    for (const TakenBlock& block : rig.take_all()) bursts.push_back(block.completion.burst_id);
    EXPECT_THAT(bursts, testing::ElementsAre(1, 2, 1, 2));
    EXPECT_EQ(rig[bursts_ended], 1U);
    EXPECT_EQ(rig[out_of_order], 1U);
    EXPECT_EQ(rig[lost_sequences], 0U);
}

TEST(StreamReceiver, TimestampsThatFallMakeABlockUnsorted) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(0, 0xfffffff6);  // wraps: still sorted
    rig.send(board.data(4));
    rig.receiver->on_time(rig.clock.monotonic_ns() + 1'000'000);
    board.begin_burst(0, 50);
    rig.send(board.data(1));
    board.begin_burst(0, 40);
    rig.send(board.data(1));
    rig.receiver->finish();
    const auto blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 2U);
    EXPECT_TRUE(blocks[0].completion.sorted);
    EXPECT_FALSE(blocks[1].completion.sorted);
}

TEST(StreamReceiver, DropsNewWhenNoBufferIsFreeAndRecovers) {
    StreamRig rig({}, {.max_fragments = 100, .max_hits = 1000, .max_packets = 1}, 2);
    MgpSender board(7);
    for (int i = 0; i < 5; ++i) rig.send(board.data(2));  // two blocks, then none is free
    EXPECT_EQ(rig[packets], 2U);
    EXPECT_EQ(rig[dropped_packets], 3U);
    EXPECT_EQ(rig[dropped_fragments], 6U);
    rig.send(board.marker(end_of_burst));  // waits for a buffer
    EXPECT_EQ(rig[bursts_ended], 1U);
    EXPECT_EQ(rig[blocks_by_end_of_burst], 0U);
    auto blocks = rig.take_all();
    EXPECT_EQ(blocks[0].packets[0].sequence, 0U);
    rig.receiver->on_time(rig.clock.monotonic_ns());
    blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].completion.reason, CloseReason::end_of_burst);
    board.begin_burst(1);
    rig.send(board.data(2));
    rig.send(board.marker(end_of_burst));
    rig.take_all();
    EXPECT_EQ(rig[packets], 3U);
    rig.expect_balance();
}

TEST(StreamReceiver, OverwritesTheOldestWhenToldTo) {
    StreamRig rig({.full_policy = FullPolicy::overwrite_oldest},
                  {.max_fragments = 100, .max_hits = 1000, .max_packets = 1}, 2);
    MgpSender board(7);
    for (int i = 0; i < 5; ++i) rig.send(board.data(2));
    EXPECT_EQ(rig[dropped_packets], 0U);
    EXPECT_EQ(rig[overwritten_packets], 3U);
    EXPECT_EQ(rig[overwritten_fragments], 6U);
    rig.send(board.marker(end_of_burst));
    const auto blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 2U);
    EXPECT_EQ(blocks[0].packets[0].sequence, 3U);
    EXPECT_EQ(blocks[1].packets[0].sequence, 4U);
    rig.receiver->on_time(0);
    EXPECT_EQ(rig.take_all().at(0).completion.reason, CloseReason::end_of_burst);
    rig.expect_balance();
}

TEST(StreamReceiver, AnOverwrittenEndOfBurstIsToldLater) {
    StreamRig rig({.full_policy = FullPolicy::overwrite_oldest},
                  {.max_fragments = 100, .max_hits = 1000, .max_packets = 4}, 2);
    MgpSender board(7);
    board.begin_burst(1);
    rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    board.begin_burst(2);
    for (int i = 0; i < 8; ++i) rig.send(board.data(1));
    EXPECT_EQ(rig[overwritten_packets], 1U);
    std::vector<std::pair<std::uint32_t, CloseReason>> told;
    for (int i = 0; i < 2; ++i) {
        for (const TakenBlock& block : rig.take_all())
            told.emplace_back(block.completion.burst_id, block.completion.reason);
        rig.receiver->on_time(0);
    }
    EXPECT_THAT(told, testing::ElementsAre(std::pair(2U, CloseReason::size), std::pair(2U, CloseReason::size),
                                           std::pair(1U, CloseReason::end_of_burst)));
}

TEST(StreamReceiver, GarbageDoesNotOverwriteFullBlocks) {
    StreamRig rig({.full_policy = FullPolicy::overwrite_oldest},
                  {.max_fragments = 100, .max_hits = 1000, .max_packets = 1}, 2);
    MgpSender board(7);
    const Bytes first = board.data(1);
    rig.send(first);
    rig.send(board.data(1));
    for (int i = 0; i < 5; ++i) {
        rig.send(first);  // duplicates
        rig.send(Bytes(40));
    }
    EXPECT_EQ(rig[overwritten_packets], 0U);
    EXPECT_EQ(rig[duplicate_packets], 5U);
    EXPECT_EQ(rig[wire::Verdict::wrong_magic], 5U);
}

TEST(StreamReceiver, TheTailOfABurstIsFoundLostByItsTotals) {
    StreamRig rig;
    MgpSender board(7);
    rig.send(board.data(2));
    board.data(2);
    const Bytes held_up = board.data(2);
    rig.send(board.marker(end_of_burst));
    EXPECT_EQ(rig[lost_sequences], 2U);
    EXPECT_EQ(rig[announced_packets], 3U);
    EXPECT_EQ(rig[announced_fragments], 6U);
    EXPECT_EQ(rig[announced_hits], board.totals().n_hits);
    rig.send(held_up);
    EXPECT_EQ(rig[lost_sequences], 1U);
    rig.receiver->finish();
    rig.take_all();
    rig.expect_balance();
}

TEST(StreamReceiver, WhatNoMarkerAnnouncedIsCountedUntilOneDoes) {
    StreamRig rig({.full_policy = FullPolicy::drop_new}, {.max_fragments = 4, .max_hits = 1000, .max_packets = 8}, 2);
    MgpSender board(7);
    board.begin_burst(0);
    for (int i = 0; i < 6; ++i) rig.send(board.data(2));
    EXPECT_EQ(rig[dropped_fragments], 4U);
    EXPECT_EQ(rig[unannounced_fragments], 12U);
    EXPECT_EQ(rig[unannounced_hits], board.totals().n_hits);
    const Bytes end = board.marker(end_of_burst);
    board.begin_burst(1);
    rig.send(board.data(3));  // overtakes the marker
    rig.send(end);
    EXPECT_EQ(rig[announced_fragments], 12U);
    EXPECT_EQ(rig[unannounced_fragments], 3U);
    rig.send(board.data(2));
    rig.send(end);  // says nothing new
    EXPECT_EQ(rig[unannounced_fragments], 5U);
}

TEST(StreamReceiver, AStartOfBurstAnnouncesTheBurstsBeforeIt) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(0);
    rig.send(board.data(2));
    const Bytes held_up = board.data(1);
    board.begin_burst(1);
    const Bytes start = board.marker(start_of_burst);
    rig.send(board.data(4));
    rig.send(start);
    rig.send(held_up);
    EXPECT_EQ(rig[announced_fragments], 3U);
    EXPECT_EQ(rig[unannounced_fragments], 4U);
}

TEST(StreamReceiver, WhatASourceSentBeforeItRestartedStaysUnannounced) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(5);
    for (int i = 0; i < 10; ++i) rig.send(board.data(2));
    board.restart();
    board.begin_burst(5);
    rig.send(board.marker(start_of_burst));
    rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    EXPECT_EQ(rig[unannounced_fragments], 20U);
    EXPECT_EQ(rig[announced_fragments], 1U);
    EXPECT_EQ(rig[fragments], 21U);
}

TEST(StreamReceiver, ASourceThatRestartsIsFollowed) {
    for (const bool marker_arrives : {true, false}) {
        StreamRig rig;
        MgpSender board(7);
        board.begin_burst(5);
        const std::uint32_t n_before = marker_arrives ? 10 : 20'000;
        for (std::uint32_t i = 0; i < n_before; ++i) {
            rig.send(board.data(1));
            if (i % 64 == 0) rig.take_all();
        }
        rig.send(board.marker(end_of_burst));
        board.restart();
        board.begin_burst(5);
        if (marker_arrives) rig.send(board.marker(start_of_burst));
        for (int i = 0; i < 10; ++i) rig.send(board.data(1));
        rig.send(board.marker(end_of_burst));
        rig.take_all();
        EXPECT_EQ(rig[source_restarts], 1U);
        EXPECT_EQ(rig[bursts_ended], 2U);
        EXPECT_EQ(rig[stray_packets], marker_arrives ? 0U : 1U);
        EXPECT_EQ(rig[lost_sequences], rig[stray_packets]);
        EXPECT_EQ(rig[announced_packets], n_before + 10);
        rig.expect_balance();
    }
}

TEST(StreamReceiver, ABoardWhoseClockARestartSetBackIsFollowed) {
    StreamRig rig;
    MgpSender board(7);
    board.set_clock(1'700'000'000'000'000'000);
    board.begin_burst(3);
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    board.restart();
    board.set_clock(42'000'000'000);
    rig.send(board.marker(start_of_burst));
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    rig.take_all();
    EXPECT_EQ(rig[source_restarts], 1U);
    EXPECT_EQ(rig[packets], 20U);
    EXPECT_EQ(rig[bursts_ended], 2U);
    EXPECT_EQ(rig[lost_sequences] + rig[duplicate_packets] + rig[conflicting_packets], 0U);
    rig.expect_balance();
}

TEST(StreamReceiver, ABoardWhoseClockARestartSetBackIsFollowedFromAnEndOfBurstOn) {
    StreamRig rig;
    MgpSender board(7);
    board.set_clock(1'700'000'000'000'000'000);
    board.begin_burst(3);
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    board.restart();
    board.set_clock(42'000'000'000);
    board.begin_burst(3);
    rig.send(board.marker(end_of_burst));  // it sent nothing of the burst after its restart
    board.begin_burst(4);
    rig.send(board.marker(start_of_burst));
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    rig.take_all();
    EXPECT_EQ(rig[source_restarts], 1U);
    EXPECT_EQ(rig[packets], 20U);
    EXPECT_EQ(rig[lost_sequences] + rig[duplicate_packets] + rig[conflicting_packets], 0U);
}

/// The number after the last one that a board sent is 0, because its counter has wrapped.
TEST(StreamReceiver, ABoardThatBeginsAnewWhereItsNumbersWrapIsFollowed) {
    StreamRig rig;
    MgpSender board(7);
    board.set_sequence(0xfffffff6);
    board.begin_burst(3);
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    ASSERT_EQ(board.sequence(), 0U);
    board.restart();
    board.begin_burst(4);
    rig.send(board.marker(start_of_burst));
    for (int i = 0; i < 5; ++i) rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    rig.take_all();
    EXPECT_EQ(rig[source_restarts], 1U);
    EXPECT_EQ(rig[packets], 15U);
    EXPECT_EQ(rig[announced_packets], 5U);
    EXPECT_EQ(rig[lost_sequences] + rig[duplicate_packets] + rig[conflicting_packets], 0U);
}

TEST(StreamReceiver, APacketMaySayAnyTime) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    for (const std::uint64_t time : {sign, sign - 100, ~std::uint64_t{0} - 100, std::uint64_t{1}}) {
        StreamRig rig;
        MgpSender board(7);
        board.set_clock(1'700'000'000'000'000'000);
        rig.send(board.data(1));
        for (int i = 0; i < 2; ++i) {
            board.restart();
            board.set_clock(time);
            rig.send(board.marker(start_of_burst));
            rig.send(board.data(1));
            EXPECT_EQ(rig[source_restarts], 1U) << "the first time; the second repeats it";
        }
        EXPECT_EQ(rig[packets], 2U);
        EXPECT_EQ(rig[duplicate_packets], 1U);
    }
}

TEST(StreamReceiver, ARestartThatNoMarkerTellsIsSeenInWhatPacketsContain) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(5);
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    board.restart();
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    rig.take_all();
    EXPECT_EQ(rig[source_restarts], 1U);
    EXPECT_EQ(rig[conflicting_packets], 1U) << "the first, which another packet with the number of the next confirms";
    EXPECT_EQ(rig[lost_sequences], 1U);
    EXPECT_EQ(rig[packets], 19U);
    EXPECT_EQ(rig[duplicate_packets], 0U);
}

/// The last packet of the burst in which the board began anew has a known number, and so has the first of the next one:
/// the start of that burst came between them, and does not end it.
TEST(StreamReceiver, ABurstThatBeganBeforeARestartWasSeenDoesNotEndWithIt) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(1000);
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    board.restart();
    board.begin_burst(0, 100);
    rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    board.begin_burst(1, 200);
    rig.send(board.marker(start_of_burst));
    for (int i = 0; i < 10; ++i) rig.send(board.data(1));
    rig.send(board.marker(end_of_burst));
    EXPECT_EQ(rig[source_restarts], 1U);
    EXPECT_EQ(rig[conflicting_packets], 1U);
    const auto blocks = rig.take_all();
    std::uint32_t n_of_burst = 0, n_ends = 0;
    for (const TakenBlock& block : blocks) {
        if (block.completion.burst_id != 1) continue;
        EXPECT_EQ(n_ends, 0U) << "data after the end of its burst";
        n_of_burst += block.completion.n_fragments;
        n_ends += block.completion.reason == CloseReason::end_of_burst ? 1 : 0;
    }
    EXPECT_EQ(n_of_burst, 10U);
    EXPECT_EQ(n_ends, 1U);
}

TEST(StreamReceiver, OnlyTheSameBytesAreADuplicate) {
    StreamRig rig;
    MgpSender board(7);
    board.begin_burst(5);
    std::vector<Bytes> sent;
    for (int i = 0; i < 10; ++i) rig.send(sent.emplace_back(board.data(1)));
    MgpSender other(7);  // in the board's name, and not in a row: it is not followed
    other.begin_burst(5, 999);
    const Bytes others[]{other.data(1), other.data(2), other.data(1)};
    for (const Bytes& packet : others) {
        rig.send(packet);
        rig.send(sent[4]);
        rig.send(board.data(1));
    }
    EXPECT_EQ(rig[duplicate_packets], 3U);
    EXPECT_EQ(rig[conflicting_packets], 3U);
    EXPECT_EQ(rig[source_restarts], 0U);
    EXPECT_EQ(rig[packets], 13U);
}

TEST(StreamReceiver, StopsWithAnUnendedBurst) {
    StreamRig rig;
    MgpSender board(7);
    rig.send(board.marker(start_of_burst));
    EXPECT_TRUE(rig.receiver->finish());
    EXPECT_TRUE(rig.receiver->finish());
    const auto blocks = rig.take_all();
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].completion.reason, CloseReason::stop);
    EXPECT_EQ(rig[blocks_by_stop], 1U);
}

TEST(StreamReceiver, WrongConfigurationsNameThemselves) {
    EXPECT_THROW(StreamRig({.gathering_time_ns = -1}), ConfigError);
    EXPECT_THROW(StreamRig({}, {.max_fragments = 0, .max_hits = 1, .max_packets = 1}), ConfigError);
    EXPECT_THROW(parse_word<FullPolicy>("drop", {}), ConfigError);
    EXPECT_EQ(parse_word<FullPolicy>(name_of(FullPolicy::overwrite_oldest), {}), FullPolicy::overwrite_oldest);
}

}  // namespace
}  // namespace anello::receive::stream_receiver_test

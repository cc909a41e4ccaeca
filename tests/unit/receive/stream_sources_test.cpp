// SPDX-License-Identifier: Apache-2.0
#include "unit/receive/stream_rig.hpp"

/// Which senders are accepted for the board of a stream.
namespace anello::receive::test::stream_sources_test {
namespace {

using enum ReceiveCounter;
constexpr SourceAddress own(0x0a000006, 5000), other_port(0x0a000006, 5001), neighbour(0x0a000005, 4711);

TEST(StreamSources, AnotherBoardThatUsesItsNameIsNotUsed) {
    StreamRig rig;
    MgpSender board(7), impostor(7);
    for (int i = 0; i < 2000; ++i) rig.send(board.data(2), own);
    for (int i = 0; i < 30; ++i) {
        rig.send(impostor.data(3), neighbour);
        rig.send(board.data(2), own);
        rig.take_all();
    }
    rig.send(impostor.marker(wire::mgp::end_of_burst), neighbour);
    rig.send(Bytes(20), neighbour);  // not even malformed: it is no business of the board's
    rig.send(board.marker(wire::mgp::end_of_burst), own);
    rig.receiver->finish();
    rig.take_all();
    EXPECT_EQ(rig[strangers], 32U);
    EXPECT_EQ(rig.n_malformed(), 0U);
    EXPECT_EQ(rig[packets] + rig[dropped_packets], 2030U);
    EXPECT_EQ(rig[lost_sequences], 0U);
    EXPECT_EQ(rig.receiver->speakers().stranger, neighbour);
    EXPECT_EQ(rig.receiver->speakers().bound, own);
    EXPECT_EQ(rig.receiver->speakers().disowned, SourceAddress{});
    rig.expect_balance();
}

TEST(StreamSources, WhoSpeaksFirstCostsAsManyPacketsAsItSent) {
    StreamRig rig;
    MgpSender board(7), impostor(7);
    rig.send(impostor.marker(wire::mgp::start_of_burst), neighbour);
    for (int i = 0; i < 20; ++i) rig.send(impostor.data(2), neighbour);
    rig.take_all();
    rig.send(board.marker(wire::mgp::start_of_burst), own);
    for (int i = 0; i < 500; ++i) {
        rig.send(board.data(2), own);
        rig.take_all();
    }
    rig.send(board.marker(wire::mgp::end_of_burst), own);
    rig.receiver->finish();
    rig.take_all();
    EXPECT_EQ(rig[disowned_packets], 20U);
    EXPECT_EQ(rig[disowned_fragments], 40U);
    EXPECT_EQ(rig[source_changes], 1U);
    EXPECT_EQ(rig[strangers], 21U);
    EXPECT_EQ(rig[mistaken_strangers], 21U);  // 20 packets and the marker
    EXPECT_EQ(rig[packets], 20U + 480U);
    EXPECT_EQ(rig[announced_packets], 500U);
    EXPECT_EQ(rig[lost_sequences], 20U);  // what was counted as a stranger's
    EXPECT_EQ(rig.receiver->speakers().disowned, neighbour);
    EXPECT_EQ(rig.receiver->speakers().stranger, SourceAddress{}) << "the board is none";
    rig.expect_balance();
}

TEST(StreamSources, TheBuilderIsToldWhichBlocksWereNotTheBoards) {
    StreamRig rig;
    MgpSender board(7), impostor(7);
    for (int i = 0; i < 3; ++i) rig.send(impostor.data(2), neighbour);
    for (int i = 0; i < 4; ++i) rig.send(board.data(1), own);
    rig.receiver->finish();
    std::vector<CloseReason> reasons;
    std::vector<std::uint32_t> n_fragments;
    for (const TakenBlock& taken : rig.take_all()) {
        reasons.push_back(taken.completion.reason);
        n_fragments.push_back(taken.completion.n_fragments);
    }
    EXPECT_EQ(reasons, (std::vector{CloseReason::gathering_time, CloseReason::disowned, CloseReason::stop}));
    EXPECT_EQ(n_fragments, (std::vector{6U, 0U, 1U}));
    EXPECT_EQ(rig[blocks_by_take_over], 1U);
}

TEST(StreamSources, ARebootedBoardIsHeardFromItsNewPort) {
    StreamRig rig;
    MgpSender board(7);
    for (int i = 0; i < 1500; ++i) {
        rig.send(board.data(1), own);
        rig.take_all();
    }
    board.restart();
    rig.send(board.data(1), other_port);
    EXPECT_EQ(rig[strangers], 1U);
    rig.pass_ms(1100);
    board.restart();
    rig.send(board.marker(wire::mgp::start_of_burst), other_port);
    for (int i = 0; i < 10; ++i) rig.send(board.data(1), other_port);
    EXPECT_EQ(rig[strangers], 1U);
    EXPECT_EQ(rig[source_changes], 1U);
    EXPECT_EQ(rig[source_restarts], 1U);
    EXPECT_EQ(rig[disowned_packets], 0U);
    EXPECT_EQ(rig[packets] + rig[dropped_packets], 1510U);
}

TEST(StreamSources, TimeInWhichNothingWasReadIsNoSilence) {
    StreamRig rig;
    MgpSender board(7);
    for (int i = 0; i < 1500; ++i) {
        rig.send(board.data(1), own);
        rig.take_all();
    }
    rig.receiver->on_read(rig.clock.monotonic_ns());
    rig.clock.advance(60'000'000'000);  // the thread stood still
    rig.receiver->on_time(rig.clock.monotonic_ns());
    rig.send(board.data(1), other_port);
    EXPECT_EQ(rig[strangers], 1U);
}

TEST(StreamSources, OnlyWhoIsConfiguredIsHeard) {
    StreamRig rig({.source = neighbour});
    MgpSender board(7);
    rig.send(board.data(1), own);
    EXPECT_EQ(rig[strangers], 1U);
    rig.send(board.data(1), neighbour);
    EXPECT_EQ(rig[packets], 1U);
}

}  // namespace
}  // namespace anello::receive::test::stream_sources_test

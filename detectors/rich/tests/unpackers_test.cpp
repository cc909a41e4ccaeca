// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/unpackers.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "core/errors.hpp"
#include "rich/wire/mep.hpp"
#include "rich/wire/rich_channels.hpp"
#include "rich/wire/tel62.hpp"
#include "unit/receive/unpacked_block.hpp"

namespace anello::rich::unpackers_test {
namespace {

using receive::test::Bytes;
using receive::test::StreamRig;
using receive::test::TakenBlock;
using Block = receive::test::UnpackedBlock;
using enum receive::ReceiveCounter;

/// A MEP of `n_events` with one leading and one trailing hit on a known PMT each.
Bytes mep_packet(std::uint8_t board, std::uint32_t first_event, std::uint32_t n_events, bool last,
                 std::int64_t hit_offset_fine = 300) {
    Bytes datagram(4000);
    wire::mep::PacketWriter writer(datagram, wire::mep::rich_source_id, board, first_event);
    for (std::uint32_t i = 0; i < n_events; ++i) {
        const std::uint32_t ticks = 0x10000 + (first_event + i) * 100;
        const auto channel = static_cast<std::uint16_t>(
            board < 4 ? wire::rich::readout_channel_of(board * 488U + (first_event + i) % 488) : 4 * 512 + 3);
        const auto time_fine = static_cast<std::uint64_t>((static_cast<std::int64_t>(ticks) << 8) + hit_offset_fine);
        std::vector<wire::tel62::Hit> hits{{time_fine, channel, wire::tel62::Edge::leading},
                                           {time_fine + 100, channel, wire::tel62::Edge::trailing}};
        Bytes payload(400);
        payload.resize(wire::tel62::encode(payload, {.board = board}, hits));
        writer.add(payload, ticks, last && i + 1 == n_events);
    }
    datagram.resize(writer.finish());
    return datagram;
}

TEST(MepUnpacker, HitsBecomePmtsWithTimesRelativeToTheirEvent) {
    for (const std::int64_t offset_fine : {300, -300}) {
        const auto unpacker = mep_board(wire::mep::rich_source_id, 1)();
        Block block;
        receive::PacketInfo packet;
        ASSERT_EQ(unpacker->unpack(mep_packet(1, 40, 3, true, offset_fine), block.writer, packet), wire::Verdict::ok);
        EXPECT_EQ(packet.sequence, 40U);
        EXPECT_EQ(packet.sequence_step, 3U);
        EXPECT_TRUE(packet.ends_burst);
        ASSERT_EQ(block.writer.n_open_fragments(), 3U);
        ASSERT_EQ(block.writer.n_open_hits(), 3U);
        for (std::uint32_t i = 0; i < 3; ++i) {
            EXPECT_EQ(block.columns.hit_id[i], 488 + 40 + i);
            EXPECT_EQ(block.columns.hit_time_fine[i], offset_fine);
            EXPECT_EQ(block.columns.timestamp_ticks[i], 0x10000 + (40 + i) * 100);
        }
    }
}

TEST(MepUnpacker, SupercellsGiveFragmentsWithoutHits) {
    const auto unpacker = mep_board(wire::mep::rich_source_id, 4)();
    Block block;
    receive::PacketInfo packet;
    ASSERT_EQ(unpacker->unpack(mep_packet(4, 0, 2, false), block.writer, packet), wire::Verdict::ok);
    EXPECT_EQ(block.writer.n_open_fragments(), 2U);
    EXPECT_EQ(block.writer.n_open_hits(), 0U);
    EXPECT_EQ(unpacker->unpack(mep_packet(1, 0, 2, false), block.writer, packet), wire::Verdict::unknown_source);
}

TEST(MepStream, EventNumbersShowLossAndBurstsAreCounted) {
    StreamRig rig({}, {}, 8, mep_board(wire::mep::rich_source_id, 1)());
    rig.send(mep_packet(1, 0, 10, false));
    rig.send(mep_packet(1, 20, 10, false));  // 10 to 19 are lost
    const Bytes last = mep_packet(1, 30, 5, true);
    rig.send(last);
    rig.send(last);
    rig.send(mep_packet(1, 0, 10, false));  // the next burst
    rig.send(mep_packet(1, 10, 2, true));
    std::vector<std::uint32_t> bursts;
    for (const TakenBlock& block : rig.take_all()) {
        EXPECT_EQ(block.completion.reason, receive::CloseReason::end_of_burst);
        bursts.push_back(block.completion.burst_id);
    }
    EXPECT_THAT(bursts, testing::ElementsAre(0, 1));
    EXPECT_EQ(rig[lost_sequences], 10U);
    EXPECT_EQ(rig[duplicate_packets], 1U);
    EXPECT_EQ(rig[announced_fragments], 35U + 12U);
    EXPECT_EQ(rig[announced_fragments], rig[distinct_sequences] + rig[lost_sequences]);
    EXPECT_EQ(rig[distinct_sequences], rig[fragments]);
}

RC_GTEST_PROP(MepStream, RandomBytesNeverStopIt, (std::uint32_t seed)) {
    StreamRig rig({}, {}, 4, mep_board(7, 2)());
    rig.send_random(seed, 40);
    RC_ASSERT(rig[datagrams] == 40U);
    RC_ASSERT(rig[datagrams] ==
              rig[packets] + rig[duplicate_packets] + rig[dropped_packets] + rig[stray_packets] + rig.n_malformed());
    RC_ASSERT(rig[fragments] == rig.n_fragments);
}

TEST(Unpackers, WrongBoardsNameThemselves) {
    EXPECT_THROW(mgp_board(65536, 0), ConfigError);
    EXPECT_THROW(mgp_board(1, 4), ConfigError);
    EXPECT_THROW(mep_board(256, 0), ConfigError);
    EXPECT_THROW(mep_board(1, 5), ConfigError);
}

}  // namespace
}  // namespace anello::rich::unpackers_test

// SPDX-License-Identifier: Apache-2.0
#include "receive/unpacker.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "lookalikes/detector_file.hpp"
#include "unit/receive/stream_rig.hpp"
#include "wire/bytes.hpp"
#include "wire/clb.hpp"
#include "wire/mep.hpp"
#include "wire/rich_channels.hpp"
#include "wire/tel62.hpp"

namespace anello::receive::unpacker_test {
namespace {

using test::Bytes;
using test::MgpSender;
using test::StreamRig;
using enum ReceiveCounter;

struct Block {
    std::vector<std::byte> memory;
    BlockShape shape;
    FragmentColumns columns;
    FragmentWriter writer;

    explicit Block(const BlockShape& block_shape = {}) : memory(block_bytes(block_shape)), shape(block_shape) {
        columns = columns_of(memory, shape);
        writer.open(columns, shape);
    }
};

TEST(FragmentBlock, ColumnsLieApartAndInsideTheBuffer) {
    const BlockShape shape{.max_fragments = 7, .max_hits = 33, .max_packets = 3};
    std::vector<std::byte> memory(block_bytes(shape));
    const FragmentColumns c = columns_of(memory, shape);
    const auto fill = [](auto* column, std::size_t n_items, int value) {
        std::memset(static_cast<void*>(column), value, n_items * sizeof *column);
    };
    fill(c.packet, 3, 1);
    fill(c.timestamp_ticks, 7, 2);
    fill(c.hit_begin, 8, 3);
    fill(c.fine_time, 7, 4);
    fill(c.hit_id, 33, 5);
    fill(c.hit_time_fine, 33, 6);  // the address sanitizer watches the end
    EXPECT_EQ(c.packet[2].sequence, 0x01010101U);
    EXPECT_EQ(c.timestamp_ticks[6], 0x02020202U);
    EXPECT_EQ(c.hit_begin[7], 0x03030303U);
    EXPECT_EQ(c.fine_time[6], 4);
    EXPECT_EQ(c.hit_id[32], 0x0505);
    EXPECT_EQ(c.hit_time_fine[32], 0x0606);
}

TEST(MgpUnpacker, TimedHitsKeepTheirTimes) {
    const auto unpacker = make_unpacker({.format = Format::mgp, .source_id = 7, .board = 3});
    MgpSender board(7, wire::mgp::hits_with_time);
    board.begin_burst(5, 70);
    Block block;
    PacketInfo packet;
    ASSERT_EQ(unpacker->unpack(board.data(2), block.writer, packet), wire::Verdict::ok);
    EXPECT_EQ(packet.burst_id, 5U);
    EXPECT_EQ(packet.n_events, 2U);
    EXPECT_EQ(block.writer.n_fragments(), 0U) << "not committed yet";
    block.writer.commit(0, 0, 0);
    ASSERT_EQ(block.columns.hit_begin[1], MgpSender::n_hits_of(70));
    for (std::uint32_t i = 0; i < block.columns.hit_begin[1]; ++i) {
        EXPECT_EQ(block.columns.hit_id[i], 3 * 488 + MgpSender::hit_of(70, i).channel);
        EXPECT_EQ(block.columns.hit_time_fine[i], MgpSender::hit_of(70, i).time_fine);
    }
}

TEST(MgpUnpacker, ChannelsWithoutAPmtAreWrong) {
    const auto unpacker = make_unpacker({.format = Format::mgp, .source_id = 7, .board = 0});
    for (const std::uint8_t flags : {std::uint8_t{0}, std::uint8_t{wire::mgp::hits_with_time}}) {
        for (const std::uint16_t channel : std::vector<std::uint16_t>{487, 488, 511}) {
            Bytes datagram(200);
            const std::vector<wire::mgp::Hit> hits{{1, 0}, {channel, 0}};
            const std::size_t n_bytes = wire::mgp::write_event(std::span(datagram).subspan(wire::mgp::header_bytes), 1,
                                                               0, hits, flags == wire::mgp::hits_with_time);
            wire::mgp::Header header;
            header.flags = flags;
            header.source_id = 7;
            header.n_events = 1;
            datagram.resize(wire::mgp::seal(datagram, header, n_bytes));
            Block block;
            PacketInfo packet;
            EXPECT_EQ(unpacker->unpack(datagram, block.writer, packet),
                      channel < 488 ? wire::Verdict::ok : wire::Verdict::wrong_hit);
        }
    }
}

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
        const auto unpacker =
            make_unpacker({.format = Format::mep, .source_id = wire::mep::rich_source_id, .board = 1});
        Block block;
        PacketInfo packet;
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
    const auto unpacker = make_unpacker({.format = Format::mep, .source_id = wire::mep::rich_source_id, .board = 4});
    Block block;
    PacketInfo packet;
    ASSERT_EQ(unpacker->unpack(mep_packet(4, 0, 2, false), block.writer, packet), wire::Verdict::ok);
    EXPECT_EQ(block.writer.n_open_fragments(), 2U);
    EXPECT_EQ(block.writer.n_open_hits(), 0U);
    EXPECT_EQ(unpacker->unpack(mep_packet(1, 0, 2, false), block.writer, packet), wire::Verdict::unknown_source);
}

TEST(MepStream, EventNumbersShowLossAndBurstsAreCounted) {
    StreamRig rig({}, {}, 8, {.format = Format::mep, .source_id = wire::mep::rich_source_id, .board = 1});
    rig.send(mep_packet(1, 0, 10, false));
    rig.send(mep_packet(1, 20, 10, false));  // 10 to 19 are lost
    const Bytes last = mep_packet(1, 30, 5, true);
    rig.send(last);
    rig.send(last);
    rig.send(mep_packet(1, 0, 10, false));  // the next burst
    rig.send(mep_packet(1, 10, 2, true));
    std::vector<std::uint32_t> bursts;
    for (const test::TakenBlock& block : rig.take_all()) {
        EXPECT_EQ(block.completion.reason, CloseReason::end_of_burst);
        bursts.push_back(block.completion.burst_id);
    }
    EXPECT_THAT(bursts, testing::ElementsAre(0, 1));
    EXPECT_EQ(rig[lost_sequences], 10U);
    EXPECT_EQ(rig[duplicate_packets], 1U);
    EXPECT_EQ(rig[announced_fragments], 35U + 12U);
    EXPECT_EQ(rig[announced_fragments], rig[distinct_sequences] + rig[lost_sequences]);
    EXPECT_EQ(rig[distinct_sequences], rig[fragments]);
}

TEST(ClbUnpacker, ATimeSliceIsOneFragmentAtItsTimeInTicks) {
    const std::array<wire::clb::Hit, 2> hits{{{0, 5, 26}, {30, 900, 255}}};
    Bytes datagram(wire::clb::header_bytes + hits.size() * wire::clb::hit_bytes);
    const wire::clb::Header header{
        .run_number = 7, .udp_sequence = 3, .utc_s = 9, .utc_16ns = 62'500'000, .dom_id = 808};  // the last 16 ns
    ASSERT_EQ(wire::clb::write(datagram, header, hits), datagram.size());
    const auto unpacker = make_unpacker({.format = Format::clb, .source_id = 808});
    Block block;
    PacketInfo packet;
    ASSERT_EQ(unpacker->unpack(datagram, block.writer, packet), wire::Verdict::ok);
    EXPECT_EQ(packet.burst_id, 9U);
    EXPECT_EQ(packet.sequence, 3U);
    EXPECT_EQ(packet.n_events, 1U);
    block.writer.commit(packet.sequence, 0, 0);
    const double ticks = block.columns.timestamp_ticks[0] + block.columns.fine_time[0] / 256.0;
    EXPECT_NEAR(ticks * tick_ns, 1e9, fine_time_ns) << "a second, in ticks of the 25 ns clock";
    EXPECT_THAT(std::vector(block.columns.hit_id, block.columns.hit_id + 2), testing::ElementsAre(0, 30));
    EXPECT_THAT(std::vector(block.columns.hit_time_fine, block.columns.hit_time_fine + 2), testing::ElementsAre(0, 0));
}

class ClbFile : public anello::test::DetectorFile {
  protected:
    ClbFile() : DetectorFile("clb.dqd") {}
};

TEST_P(ClbFile, DatagramsGiveTheirHits) {
    const Bytes content = bytes();
    StreamRig rig({}, {}, 8, {.format = Format::clb, .source_id = 0});
    for (std::size_t at = 0; at + 4 <= content.size();) {
        const std::byte* const datagram = content.data() + at + 4;
        const auto n_bytes = wire::load_le<std::uint32_t>(content.data() + at);
        rig.send(Bytes(datagram, datagram + n_bytes));
        at += 4 + n_bytes;
    }
    rig.receiver->finish();
    rig.take_all();
    const auto n_datagrams = of_this(3U, 4U);
    EXPECT_EQ(rig[packets], n_datagrams);
    EXPECT_EQ(rig[fragments], n_datagrams);
    EXPECT_EQ(rig[hits], of_this(229U + 141U + 229U, 31U + 0U + 12U + 40U));
    EXPECT_EQ(rig.n_fragments, n_datagrams);
}

INSTANTIATE_TEST_SUITE_P(Data, ClbFile, anello::test::both_kinds, anello::test::kind_name);

}  // namespace
}  // namespace anello::receive::unpacker_test

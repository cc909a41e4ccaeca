// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstring>

#include "receive/boards/mgp_unpacker.hpp"
#include "unit/receive/unpacked_block.hpp"

namespace anello::receive::unpacker_test {
namespace {

using test::Bytes;
using test::MgpSender;
using Block = test::UnpackedBlock;

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
    MgpUnpacker unpacker({.source_id = 7, .first_hit_id = 1464, .n_channels = 488});
    MgpSender board(7, wire::mgp::hits_with_time);
    board.begin_burst(5, 70);
    Block block;
    PacketInfo packet;
    ASSERT_EQ(unpacker.unpack(board.data(2), block.writer, packet), wire::Verdict::ok);
    EXPECT_EQ(packet.burst_id, 5U);
    EXPECT_EQ(packet.n_events, 2U);
    EXPECT_EQ(block.writer.n_fragments(), 0U) << "not committed yet";
    block.writer.commit(0, 0, 0);
    ASSERT_EQ(block.columns.hit_begin[1], MgpSender::n_hits_of(70));
    for (std::uint32_t i = 0; i < block.columns.hit_begin[1]; ++i) {
        EXPECT_EQ(block.columns.hit_id[i], 1464 + MgpSender::hit_of(70, i).channel);
        EXPECT_EQ(block.columns.hit_time_fine[i], MgpSender::hit_of(70, i).time_fine);
    }
}

TEST(MgpUnpacker, ChannelsThatTheBoardHasNotAreWrong) {
    MgpUnpacker unpacker({.source_id = 7, .first_hit_id = 0, .n_channels = 488});
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
            EXPECT_EQ(unpacker.unpack(datagram, block.writer, packet),
                      channel < 488 ? wire::Verdict::ok : wire::Verdict::wrong_hit);
        }
    }
}

}  // namespace
}  // namespace anello::receive::unpacker_test

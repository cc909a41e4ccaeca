// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/mep.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace anello::wire::mep {
namespace {

using Bytes = std::vector<std::byte>;
const KnownSources rich(rich_source_id, 5);

/// Three fragments of 4, 0 and 8 bytes; the last is the end of burst.
Bytes packet_of(std::uint32_t first_event_number, std::uint8_t source_id = rich_source_id, std::uint8_t board = 1) {
    Bytes datagram(200);
    PacketWriter writer(datagram, source_id, board, first_event_number);
    EXPECT_TRUE(writer.add(Bytes(4, std::byte{0xaa}), 1000));
    EXPECT_TRUE(writer.add({}, 2000));
    EXPECT_TRUE(writer.add(Bytes(8, std::byte{0xbb}), 3000, true));
    datagram.resize(writer.finish());
    return datagram;
}

Verdict verdict_of(std::span<const std::byte> datagram) {
    PacketView packet;
    return parse(datagram, rich, packet);
}

TEST(Mep, ReadsWhatItWroteAndCountsEventsAcrossTheBorderOf24Bits) {
    const Bytes datagram = packet_of(0xfffffe);
    PacketView packet;
    ASSERT_EQ(parse(datagram, rich, packet), Verdict::ok);
    EXPECT_EQ(packet.header.length_bytes, 8 + 3 * 8 + 12);
    EXPECT_EQ(packet.header.sub_source_id, 1);
    FragmentReader reader(packet);
    FragmentView fragment{};
    ASSERT_TRUE(reader.next(fragment));
    EXPECT_EQ(fragment.event_number, 0xfffffeU);
    EXPECT_EQ(fragment.timestamp_ticks, 1000U);
    EXPECT_EQ(fragment.payload.size(), 4U);
    EXPECT_FALSE(fragment.last_of_burst);
    ASSERT_TRUE(reader.next(fragment));
    EXPECT_EQ(fragment.event_number, 0xffffffU);
    EXPECT_TRUE(fragment.payload.empty());
    ASSERT_TRUE(reader.next(fragment));
    EXPECT_EQ(fragment.event_number, 0U);
    EXPECT_EQ(fragment.payload[7], std::byte{0xbb});
    EXPECT_TRUE(fragment.last_of_burst);
    EXPECT_FALSE(reader.next(fragment));
}

TEST(Mep, WriterRefusesWhatDoesNotFit) {
    Bytes datagram(header_bytes + fragment_header_bytes + 4);
    PacketWriter writer(datagram, rich_source_id, 0, 0);
    EXPECT_FALSE(writer.add(Bytes(5), 1));
    EXPECT_TRUE(writer.add(Bytes(4), 1));
    EXPECT_TRUE(writer.room().empty());
    EXPECT_FALSE(writer.add({}, 2));
    EXPECT_EQ(writer.finish(), datagram.size());
    EXPECT_EQ(verdict_of(datagram), Verdict::ok);
}

TEST(Mep, WriterStopsAt255Fragments) {
    Bytes datagram(9000);
    PacketWriter writer(datagram, rich_source_id, 0, 0);
    for (std::uint32_t i = 0; i < max_fragments; ++i) ASSERT_TRUE(writer.add({}, i));
    EXPECT_FALSE(writer.add({}, 255));
    EXPECT_EQ(writer.n_fragments(), 255U);
}

TEST(MepVerdict, TooShort) {
    EXPECT_EQ(verdict_of(Bytes(7)), Verdict::too_short);
}

TEST(MepVerdict, WrongLengthBothWays) {
    Bytes datagram = packet_of(5);
    datagram.push_back(std::byte{0});
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_length);
    EXPECT_EQ(verdict_of(std::span(datagram).first(datagram.size() - 2)), Verdict::wrong_length);
}

TEST(MepVerdict, UnknownSource) {
    EXPECT_EQ(verdict_of(packet_of(5, 0x24)), Verdict::unknown_source);
    EXPECT_EQ(verdict_of(packet_of(5, rich_source_id, 5)), Verdict::unknown_source) << "boards are 0 to 4";
    EXPECT_EQ(verdict_of(packet_of(5, rich_source_id, 4)), Verdict::ok);
}

TEST(MepVerdict, EventTruncated) {
    Bytes datagram = packet_of(5);
    datagram[8] = std::byte{7};
    EXPECT_EQ(verdict_of(datagram), Verdict::event_truncated) << "shorter than its header";
    datagram[8] = std::byte{255};
    EXPECT_EQ(verdict_of(datagram), Verdict::event_truncated) << "beyond the packet";
    datagram[8] = std::byte{12 + 8 + 12};
    datagram[6] = std::byte{2};
    EXPECT_EQ(verdict_of(datagram), Verdict::event_truncated) << "4 bytes are no fragment";
}

TEST(MepVerdict, WrongEventNumber) {
    Bytes datagram = packet_of(5);
    datagram[10] = std::byte{6};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_event_number);
}

TEST(MepVerdict, WrongEventCount) {
    Bytes datagram = packet_of(5);
    for (const std::uint8_t n_fragments : std::to_array<std::uint8_t>({0, 2, 4})) {
        datagram[6] = std::byte{n_fragments};
        EXPECT_EQ(verdict_of(datagram), Verdict::wrong_event_count) << int{n_fragments};
    }
}

}  // namespace
}  // namespace anello::wire::mep

// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/mtp.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "wire/bytes.hpp"

namespace anello::wire::mtp {
namespace {

using Bytes = std::vector<std::byte>;
const KnownSources rich(0x1c, 1);

Bytes packet_of(std::uint32_t frame, std::initializer_list<Primitive> primitives, std::uint8_t source_id = 0x1c) {
    Bytes datagram(full_packet_bytes);
    PacketWriter writer(datagram, source_id, 0);
    writer.begin(frame);
    for (const Primitive& primitive : primitives) EXPECT_EQ(writer.add(primitive), AddResult::ok);
    datagram.resize(writer.finish());
    return datagram;
}

Verdict verdict_of(std::span<const std::byte> datagram) {
    PacketView packet;
    return parse(datagram, rich, packet);
}

const Primitive early{0x4001, 10, 0x70003}, late{0x4002, 9, 0x700ff};

TEST(Mtp, ReadsWhatItWrote) {
    const Bytes datagram = packet_of(0x700, {early, late});
    PacketView packet;
    ASSERT_EQ(parse(datagram, rich, packet), Verdict::ok);
    EXPECT_EQ(packet.header.n_primitives, 2);
    PrimitiveReader reader(packet);
    Primitive primitive{};
    ASSERT_TRUE(reader.next(primitive));
    EXPECT_EQ(primitive, early);
    ASSERT_TRUE(reader.next(primitive));
    EXPECT_EQ(primitive, late);
    EXPECT_FALSE(reader.next(primitive));
}

TEST(Mtp, AnEmptyFrameIsAHeader) {
    const Bytes datagram = packet_of(0xffffff, {});
    EXPECT_EQ(datagram.size(), header_bytes);
    EXPECT_EQ(verdict_of(datagram), Verdict::ok);
}

TEST(Mtp, TimestampWordsOfTheFrameAreReadOver) {
    Bytes datagram = packet_of(0x700, {early, late});
    store_le(datagram.data() + 8, std::uint32_t{0x700});
    datagram[6] = std::byte{1};
    PacketView packet;
    ASSERT_EQ(parse(datagram, rich, packet), Verdict::ok);
    PrimitiveReader reader(packet);
    Primitive primitive{};
    ASSERT_TRUE(reader.next(primitive));
    EXPECT_EQ(primitive, late);
}

TEST(Mtp, WriterSaysWhyItRefuses) {
    Bytes datagram(full_packet_bytes);
    PacketWriter writer(datagram, 0x1c, 0);
    writer.begin(0x700);
    EXPECT_EQ(writer.add({0xff, 0, 0x70000}), AddResult::wrong_id) << "would read as a timestamp word";
    EXPECT_EQ(writer.add({0x100, 0, 0x70100}), AddResult::wrong_frame);
    EXPECT_EQ(writer.add({0x100, 1, 0x70001}), AddResult::ok);
    EXPECT_EQ(writer.add({0x100, 0, 0x70001}), AddResult::out_of_order);
    for (int i = 1; i < 255; ++i) ASSERT_EQ(writer.add({0x100, 1, 0x70001}), AddResult::ok);
    EXPECT_EQ(writer.add({0x100, 1, 0x70001}), AddResult::full);
    EXPECT_EQ(writer.finish(), full_packet_bytes);
    EXPECT_EQ(verdict_of(datagram), Verdict::ok);
    writer.begin(0x701);
    EXPECT_EQ(writer.add({0x100, 0, 0x70100}), AddResult::ok) << "a new frame starts afresh";
}

TEST(Mtp, HeaderNamesSourceAndSubSource) {
    Bytes datagram(full_packet_bytes);
    PacketWriter writer(datagram, 0x1c, 0x05);
    writer.begin(0x700);
    ASSERT_EQ(writer.finish(), header_bytes);
    EXPECT_EQ(datagram[3], std::byte{0x1c});
    EXPECT_EQ(datagram[7], std::byte{0x05});
    EXPECT_EQ(datagram[6], std::byte{0}) << "no primitives";
    PacketView packet;
    ASSERT_EQ(parse(std::span(datagram).first(header_bytes), KnownSources(0x1c, 6), packet), Verdict::ok);
    EXPECT_EQ(packet.header.source_id, 0x1c);
    EXPECT_EQ(packet.header.sub_source_id, 0x05);
    EXPECT_EQ(packet.header.frame, 0x700U);
    EXPECT_EQ(packet.header.length_bytes, header_bytes);
}

TEST(Mtp, FillingMakesOneLengthAndIsNoPrimitive) {
    for (const auto& [n_primitives, fill_words, n_words] : std::vector<std::array<std::uint32_t, 3>>{
             {0, 0, 0}, {3, 0, 3}, {0, 8, 8}, {3, 8, 8}, {8, 8, 8}, {9, 8, 16}, {250, 8, 255}}) {
        Bytes datagram(full_packet_bytes, std::byte{0xff});
        PacketWriter writer(datagram, 0x1c, 0);
        writer.begin(0x700);
        for (std::uint32_t i = 0; i < n_primitives; ++i) ASSERT_EQ(writer.add({0x200, 1, 0x70001}), AddResult::ok);
        datagram.resize(writer.finish(fill_words));
        EXPECT_EQ(datagram.size(), header_bytes + n_words * word_bytes) << n_primitives << " primitives";
        PacketView packet;
        ASSERT_EQ(parse(datagram, rich, packet), Verdict::ok) << n_primitives << " primitives";
        std::uint32_t n_read = 0;
        Primitive primitive{};
        for (PrimitiveReader reader(packet); reader.next(primitive); ++n_read) EXPECT_EQ(primitive.id, 0x200);
        EXPECT_EQ(n_read, n_primitives);
    }
}

TEST(MtpVerdict, TooShort) {
    EXPECT_EQ(verdict_of(Bytes(7)), Verdict::too_short);
}

TEST(MtpVerdict, WrongLength) {
    Bytes datagram = packet_of(0x700, {early, late});
    EXPECT_EQ(verdict_of(std::span(datagram).first(12)), Verdict::wrong_length);
    datagram.push_back(std::byte{0});
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_length);
    store_le(datagram.data() + 4, static_cast<std::uint16_t>(datagram.size()));
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_length) << "not whole words";
    Bytes large(max_packet_bytes + 4);
    store_le(large.data(), 0x1c000000U);
    store_le(large.data() + 4, static_cast<std::uint16_t>(large.size()));
    EXPECT_EQ(verdict_of(large), Verdict::wrong_length) << "above the format's limit";
}

TEST(MtpVerdict, UnknownSource) {
    EXPECT_EQ(verdict_of(packet_of(0x700, {}, 0x18)), Verdict::unknown_source);
}

TEST(MtpVerdict, WrongEventCount) {
    Bytes datagram = packet_of(0x700, {early, late});
    datagram[6] = std::byte{3};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_event_count);
}

TEST(MtpVerdict, WrongEventNumber) {
    Bytes datagram = packet_of(0x700, {early, late});
    std::swap(datagram[9], datagram[13]);
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_event_number) << "not in time order";
    datagram = packet_of(0x700, {early, late});
    store_le(datagram.data() + 8, std::uint32_t{0x701});
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_event_number) << "another frame";
}

}  // namespace
}  // namespace anello::wire::mtp

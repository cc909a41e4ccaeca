// SPDX-License-Identifier: Apache-2.0
#include "wire/mgp.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace anello::wire::mgp {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<Hit> some_hits(std::size_t n_hits) {
    std::vector<Hit> hits;
    for (std::size_t i = 0; i < n_hits; ++i)
        hits.push_back({static_cast<std::uint16_t>((i * 211 + 3) % n_channels), static_cast<std::int16_t>(4 * i)});
    return hits;
}

/// A packet with one event per number of hits.
Bytes packet_of(std::uint8_t flags, std::initializer_list<std::size_t> hits_of_events) {
    Bytes datagram(9000);
    std::size_t n_bytes = 0;
    std::uint32_t tick = 1000;
    for (const std::size_t n_hits : hits_of_events) {
        const auto room = std::span(datagram).subspan(header_bytes + n_bytes);
        n_bytes += write_event(room, tick++, 17, some_hits(n_hits), (flags & hits_with_time) != 0);
    }
    const Header header{.flags = flags,
                        .source_id = 3,
                        .n_events = static_cast<std::uint16_t>(hits_of_events.size()),
                        .sequence = 77,
                        .burst_id = 5,
                        .send_time_ns = 123456789};
    datagram.resize(seal(datagram, header, n_bytes));
    return datagram;
}

Bytes marker_of(std::uint8_t flags) {
    Bytes datagram(header_bytes + totals_bytes);
    write_burst_marker(datagram, {.flags = flags, .source_id = 2}, {.n_packets = 1, .n_events = 2, .n_hits = 3});
    return datagram;
}

Verdict verdict_of(std::span<const std::byte> datagram) {
    PacketView packet;
    return parse(datagram, packet);
}

Verdict verdict_of_events(std::span<const std::byte> datagram) {
    PacketView packet;
    EXPECT_EQ(parse(datagram, packet), Verdict::ok);
    EventReader reader(packet);
    EventView event;
    while (reader.next(event)) {
    }
    EXPECT_FALSE(reader.next(event)) << "the end stays the end";
    return reader.verdict();
}

TEST(Mgp, ReadsTheHeaderItWrote) {
    const Bytes datagram = packet_of(with_checksum, {3, 0, 255});
    PacketView packet;
    ASSERT_EQ(parse(datagram, packet), Verdict::ok);
    EXPECT_EQ(packet.header.source_id, 3);
    EXPECT_EQ(packet.header.n_events, 3);
    EXPECT_EQ(packet.header.sequence, 77U);
    EXPECT_EQ(packet.header.burst_id, 5U);
    EXPECT_EQ(packet.header.send_time_ns, 123456789U);
    EXPECT_EQ(packet.header.length_bytes, datagram.size());
    EXPECT_FALSE(packet.header.has_hit_times());
    EXPECT_EQ(verdict_of_events(datagram), Verdict::ok);
}

TEST(Mgp, UnpacksEveryNumberOfHits) {
    for (std::size_t n_hits = 0; n_hits < 256; ++n_hits) {
        const auto hits = some_hits(n_hits);
        // A heap block of the exact size lets the address sanitizer see any read beyond it.
        Bytes packed(event_header_bytes + packed_hits_bytes(n_hits, false));
        ASSERT_EQ(write_event(packed, 1, 2, hits, false), packed.size());
        const Bytes exact(packed.begin() + event_header_bytes, packed.end());
        std::vector<std::uint16_t> channel(n_hits);
        unpack_channels(exact, static_cast<std::uint32_t>(n_hits), channel.data());
        for (std::size_t i = 0; i < n_hits; ++i) ASSERT_EQ(channel[i], hits[i].channel) << n_hits << " hits, " << i;
    }
}

TEST(Mgp, HitTimesAreRoundedToSixtyFourthsAndClamped) {
    const std::vector<Hit> hits{{511, 0}, {0, 5}, {1, 6}, {2, -5}, {3, -6}, {4, 300}, {5, -300}, {6, 252}, {7, -256}};
    const std::array<int, 9> expected{0, 4, 8, -4, -4, 252, -256, 252, -256};
    Bytes packed(event_header_bytes + packed_hits_bytes(hits.size(), true));
    ASSERT_EQ(write_event(packed, 1, 2, hits, true), packed.size());
    std::vector<std::uint16_t> channel(hits.size());
    std::vector<std::int16_t> time(hits.size());
    unpack_timed_hits(std::span(packed).subspan(event_header_bytes), 9, channel.data(), time.data());
    for (std::size_t i = 0; i < hits.size(); ++i) {
        EXPECT_EQ(channel[i], hits[i].channel);
        EXPECT_EQ(time[i], expected[i]) << "hit " << i;
    }
}

TEST(Mgp, WriteEventSaysWhenThereIsNoRoom) {
    Bytes room(event_header_bytes + packed_hits_bytes(4, false) - 1);
    EXPECT_EQ(write_event(room, 1, 2, some_hits(4), false), 0U);
    Bytes large(1000);
    EXPECT_EQ(write_event(large, 1, 2, some_hits(256), false), 0U) << "the hit count is one byte";
}

TEST(Mgp, RestampChangesTimeOnly) {
    Bytes datagram = packet_of(0, {4});
    restamp(datagram.data() + header_bytes, 0xdeadbeef, 0xab);
    PacketView packet;
    ASSERT_EQ(parse(datagram, packet), Verdict::ok);
    EventReader reader(packet);
    EventView event{};
    ASSERT_TRUE(reader.next(event));
    EXPECT_EQ(event.timestamp_ticks, 0xdeadbeefU);
    EXPECT_EQ(event.fine_time, 0xab);
    EXPECT_EQ(event.n_hits, 4);
}

/// A header that was read from another packet has that one's.
TEST(Mgp, SealingForgetsAChecksumThatWasThereBefore) {
    for (const std::uint8_t flags : {std::uint8_t{0}, std::uint8_t{with_checksum}}) {
        Bytes datagram = packet_of(flags, {4});
        PacketView packet;
        ASSERT_EQ(parse(datagram, packet), Verdict::ok);
        Header header = packet.header;
        header.checksum = 0xdeadbeef;
        const Bytes before = datagram;
        EXPECT_EQ(seal(datagram, header, packet.payload.size()), before.size());
        EXPECT_EQ(datagram, before);
    }
}

TEST(Mgp, BurstMarkersCarryTotals) {
    const Bytes datagram = marker_of(end_of_burst | with_checksum);
    PacketView packet;
    ASSERT_EQ(parse(datagram, packet), Verdict::ok);
    EXPECT_TRUE(packet.header.is_burst_marker());
    EXPECT_EQ(parse_totals(packet), (Totals{.n_packets = 1, .n_events = 2, .n_hits = 3}));
    EXPECT_EQ(verdict_of_events(datagram), Verdict::ok) << "a marker has no events to read";
}

TEST(MgpVerdict, TooShort) {
    const Bytes datagram = packet_of(0, {1});
    EXPECT_EQ(verdict_of(std::span(datagram).first(header_bytes - 1)), Verdict::too_short);
    EXPECT_EQ(verdict_of({}), Verdict::too_short);
}

TEST(MgpVerdict, WrongMagic) {
    Bytes datagram = packet_of(0, {1});
    datagram[3] ^= std::byte{1};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_magic);
}

TEST(MgpVerdict, WrongVersion) {
    Bytes datagram = packet_of(0, {1});
    datagram[4] = std::byte{2};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_version);
}

TEST(MgpVerdict, WrongFlags) {
    Bytes datagram = packet_of(0, {1});
    datagram[5] = std::byte{16};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_flags) << "a reserved flag";
    EXPECT_EQ(verdict_of(marker_of(start_of_burst | end_of_burst)), Verdict::wrong_flags);
}

TEST(MgpVerdict, WrongLengthBothWays) {
    Bytes datagram = packet_of(0, {1});
    EXPECT_EQ(verdict_of(std::span(datagram).first(datagram.size() - 1)), Verdict::wrong_length);
    datagram.push_back(std::byte{0});
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_length);
}

TEST(MgpVerdict, WrongLengthOfTotals) {
    Bytes datagram(header_bytes + totals_bytes + 8);
    seal(datagram, {.flags = start_of_burst}, totals_bytes + 8);
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_length);
}

TEST(MgpVerdict, WrongChecksum) {
    Bytes datagram = packet_of(with_checksum, {5});
    datagram.back() ^= std::byte{1};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_checksum);
    Bytes unflagged = packet_of(0, {5});
    unflagged[20] = std::byte{1};
    EXPECT_EQ(verdict_of(unflagged), Verdict::wrong_checksum) << "a lost flag must not switch the check off";
}

TEST(MgpVerdict, WrongEventCount) {
    EXPECT_EQ(verdict_of(packet_of(0, {})), Verdict::wrong_event_count) << "data packet without events";
    Bytes marker = marker_of(start_of_burst);
    marker[10] = std::byte{1};
    EXPECT_EQ(verdict_of(marker), Verdict::wrong_event_count);
    Bytes datagram = packet_of(0, {2, 2});
    datagram[10] = std::byte{1};
    EXPECT_EQ(verdict_of_events(datagram), Verdict::wrong_event_count) << "bytes are left";
    datagram[10] = std::byte{3};
    EXPECT_EQ(verdict_of_events(datagram), Verdict::wrong_event_count) << "an event is missing";
}

TEST(MgpVerdict, EventTruncated) {
    Bytes datagram = packet_of(0, {2});
    datagram[header_bytes + 5] = std::byte{4};
    EXPECT_EQ(verdict_of_events(datagram), Verdict::event_truncated) << "hits beyond the end";
    datagram = packet_of(0, {2, 0});
    datagram.resize(seal(datagram, {.n_events = 2}, datagram.size() - header_bytes - 1));
    EXPECT_EQ(verdict_of_events(datagram), Verdict::event_truncated) << "half an event header";
}

TEST(Crc32c, MatchesThePublishedCheckValue) {
    constexpr std::string_view text = "123456789";
    const auto bytes = std::as_bytes(std::span(text));
    EXPECT_EQ(crc32c(bytes), 0xe3069283U);
    EXPECT_EQ(crc32c_by_table(bytes), 0xe3069283U);
    EXPECT_EQ(crc32c(bytes.subspan(4), crc32c(bytes.first(4))), 0xe3069283U);
    EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, InstructionAndTableAgreeAtEveryLength) {
    Bytes bytes(4000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 167 + 5);
    for (std::size_t n = 0; n <= bytes.size(); ++n)
        ASSERT_EQ(crc32c(std::span(bytes).first(n)), crc32c_by_table(std::span(bytes).first(n))) << n << " bytes";
}

TEST(Crc32c, JoinsTwoStretchesOfEveryLength) {
    Bytes bytes(700);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 91 + 3);
    const std::span whole(bytes);
    for (std::size_t n = 0; n <= bytes.size(); ++n) {
        const Crc32cJoin join(n);
        const auto first = whole.first(bytes.size() - n), second = whole.last(n);
        ASSERT_EQ(join(crc32c(first), crc32c(second)), crc32c(whole)) << n << " bytes in the second";
    }
}

}  // namespace
}  // namespace anello::wire::mgp

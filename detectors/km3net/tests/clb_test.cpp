// SPDX-License-Identifier: Apache-2.0
#include "km3net/wire/clb.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace anello::wire::clb {
namespace {

using Bytes = std::vector<std::byte>;
const std::array<Hit, 2> two_hits{{{0, 5, 26}, {30, 0x01020304, 255}}};

Bytes packet_of(std::span<const Hit> hits) {
    Bytes datagram(header_bytes + hits.size() * hit_bytes);
    const Header header{.run_number = 7, .udp_sequence = 3, .utc_s = 9, .utc_16ns = 6250000, .dom_id = 808};
    EXPECT_EQ(write(datagram, header, hits), datagram.size());
    return datagram;
}

Verdict verdict_of(std::span<const std::byte> datagram, std::span<const std::uint32_t> known_doms = {}) {
    PacketView packet;
    return parse(datagram, known_doms, packet);
}

TEST(Clb, ReadsWhatItWrote) {
    const Bytes datagram = packet_of(two_hits);
    PacketView packet;
    ASSERT_EQ(parse(datagram, {}, packet), Verdict::ok);
    EXPECT_EQ(packet.header.run_number, 7U);
    EXPECT_EQ(packet.header.utc_16ns, 6250000U);
    ASSERT_EQ(packet.n_hits(), 2U);
    std::array<Hit, 2> hits{};
    unpack(packet, hits.data());
    EXPECT_EQ(hits, two_hits);
    EXPECT_EQ(datagram[29 + 6], std::byte{1}) << "big-endian";
}

TEST(Clb, WriteSaysWhenThereIsNoRoom) {
    Bytes datagram(header_bytes + hit_bytes);
    EXPECT_EQ(write(datagram, {}, two_hits), 0U);
}

TEST(ClbVerdict, TooShort) {
    EXPECT_EQ(verdict_of(Bytes(27)), Verdict::too_short);
}

TEST(ClbVerdict, WrongMagic) {
    Bytes datagram = packet_of(two_hits);
    datagram[1] = std::byte{'A'};
    EXPECT_EQ(verdict_of(datagram), Verdict::wrong_magic);
}

TEST(ClbVerdict, WrongLength) {
    const Bytes datagram = packet_of(two_hits);
    EXPECT_EQ(verdict_of(std::span(datagram).first(datagram.size() - 1)), Verdict::wrong_length);
}

TEST(ClbVerdict, UnknownSource) {
    const std::array<std::uint32_t, 2> others{1, 2}, known{2, 808};
    EXPECT_EQ(verdict_of(packet_of(two_hits), others), Verdict::unknown_source);
    EXPECT_EQ(verdict_of(packet_of(two_hits), known), Verdict::ok);
}

TEST(ClbVerdict, WrongHit) {
    const std::array<Hit, 1> hits{{{31, 5, 26}}};
    EXPECT_EQ(verdict_of(packet_of(hits)), Verdict::wrong_hit);
}

TEST(ClbVerdict, ClockNotValid) {
    Bytes datagram = packet_of(two_hits);
    datagram[24] &= ~std::byte{0x80};
    PacketView packet;
    EXPECT_EQ(parse(datagram, {}, packet), Verdict::clock_not_valid);
    EXPECT_EQ(packet.header.dom_id, 808U) << "so that it can be said whose it is";
    EXPECT_EQ(packet.n_hits(), 2U);
}

}  // namespace
}  // namespace anello::wire::clb

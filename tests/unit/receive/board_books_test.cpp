// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/board_books.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wire/bytes.hpp"

namespace anello::receive::board_books_test {
namespace {

using C = PacketCounter;

/// A made-up format: board, then number, 32 bits each, and a byte.
wire::Verdict parse(std::span<const std::byte> datagram, NumberedPacket& packet) noexcept {
    if (datagram.size() != 9) return wire::Verdict::wrong_length;
    packet = {wire::load_le<std::uint32_t>(datagram.data()), wire::load_le<std::uint32_t>(datagram.data() + 4), {}};
    return wire::Verdict::ok;
}

struct Rig {
    explicit Rig(std::vector<SourceAddress> sources = {}) : books(parse, 2, sources, page) {}

    /// Takes one packet of a sender, which has a number.
    bool take(std::uint32_t board, std::uint32_t sequence, std::uint16_t sender = 1, std::uint8_t content = 0) {
        std::array<std::byte, 9> bytes{};
        bytes[8] = std::byte{content};
        wire::store_le(bytes.data(), board);
        wire::store_le(bytes.data() + 4, sequence);
        return books.take({.bytes = bytes, .source = address(sender)}, packet);
    }
    static SourceAddress address(std::uint16_t sender) { return {0x0a000000U + sender, 4000}; }
    std::uint64_t count(std::uint32_t board, C counter) const { return books.counters(board)[counter]; }
    std::uint64_t count(const std::string& name) const {
        for (const auto& sample : page.read())
            if (sample.block == "receive.verdict" && sample.name == name) return sample.value;
        return ~std::uint64_t{0};
    }
    std::uint64_t n_expected(std::uint32_t board) {
        books.close();
        std::uint64_t n = 0;
        for (const auto& range : books.log(board).expected.ranges()) n += range.end - range.begin;
        for (const auto& range : books.log(board).missing.ranges()) n -= range.end - range.begin;
        return n;
    }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    BoardBooks books;
    NumberedPacket packet;
};

TEST(BoardBooks, EachNumberOfABoardIsUsedOnce) {
    Rig rig;
    EXPECT_TRUE(rig.take(0, 0));
    EXPECT_TRUE(rig.take(1, 0, 2));
    EXPECT_TRUE(rig.take(0, 2));
    EXPECT_TRUE(rig.take(0, 1)) << "out of order is no fault";
    EXPECT_FALSE(rig.take(0, 2));
    EXPECT_EQ(rig.packet.board, 0U);
    EXPECT_EQ(rig.packet.sequence, 2U);
    EXPECT_EQ(rig.count(0, C::packets), 4U);
    EXPECT_EQ(rig.count(0, C::used), 3U);
    EXPECT_EQ(rig.count(0, C::duplicates), 1U);
    EXPECT_EQ(rig.n_expected(0), 3U);
}

TEST(BoardBooks, WhatIsMalformedOrOfNoBoardIsCountedByItsVerdict) {
    Rig rig;
    const std::array<std::byte, 8> whole{};
    EXPECT_FALSE(rig.books.take({.bytes = std::span(whole).first(7)}, rig.packet));
    EXPECT_FALSE(rig.books.take({.bytes = whole, .cut = true}, rig.packet)) << "it was longer";
    EXPECT_FALSE(rig.take(2, 0)) << "boards are 0 and 1";
    EXPECT_FALSE(rig.take(~0U, 0));
    EXPECT_EQ(rig.count("wrong_length"), 2U);
    EXPECT_EQ(rig.count("unknown_source"), 2U);
    EXPECT_EQ(rig.count("ok"), 0U);
    EXPECT_EQ(rig.count(0, C::packets), 0U);
}

TEST(BoardBooks, ANumberFarAwayIsUsedOnlyWhenASecondOneConfirmsIt) {
    Rig rig;
    EXPECT_TRUE(rig.take(0, 0));
    EXPECT_FALSE(rig.take(0, 1'000'000));
    EXPECT_TRUE(rig.take(0, 1));
    EXPECT_EQ(rig.count(0, C::strays), 1U);
    EXPECT_EQ(rig.count(0, C::used), 2U);
    EXPECT_EQ(rig.n_expected(0), 2U);
}

TEST(BoardBooks, ANumberThatComesAgainWithOtherContentIsNoDuplicate) {
    Rig rig;
    EXPECT_TRUE(rig.take(0, 0, 1, 7));
    EXPECT_FALSE(rig.take(0, 0, 1, 7));
    EXPECT_FALSE(rig.take(0, 0, 1, 8));
    EXPECT_EQ(rig.count(0, C::duplicates), 1U);
    EXPECT_EQ(rig.count(0, C::conflicting), 1U);
    EXPECT_EQ(rig.count(0, C::packets), rig.count(0, C::used) + 2);
}

TEST(BoardBooks, ABoardThatBeginsAnewIsFollowedFromItsSecondPacketOn) {
    Rig rig;
    for (std::uint32_t sequence = 0; sequence < 10; ++sequence) EXPECT_TRUE(rig.take(0, sequence));
    EXPECT_FALSE(rig.take(0, 0, 1, 7));
    for (std::uint32_t sequence = 1; sequence < 20; ++sequence) EXPECT_TRUE(rig.take(0, sequence, 1, 7)) << sequence;
    EXPECT_EQ(rig.count(0, C::conflicting), 1U);
    EXPECT_EQ(rig.count(0, C::used), 29U);
    EXPECT_EQ(rig.n_expected(0), 29U);
}

TEST(BoardBooks, AStrangerIsNotUsedAndMovesNothing) {
    Rig rig;
    EXPECT_TRUE(rig.take(0, 0));
    EXPECT_FALSE(rig.take(0, 1, 9));
    EXPECT_TRUE(rig.take(0, 1)) << "the stranger's number is not taken";
    EXPECT_EQ(rig.count(0, C::strangers), 1U);
    EXPECT_EQ(rig.books.speakers(0).stranger, Rig::address(9));
    EXPECT_EQ(rig.books.speakers(0).bound, Rig::address(1));
}

TEST(BoardBooks, ABoardThatIsNamedIsThatAddressAlone) {
    Rig rig({Rig::address(1), SourceAddress{}});
    EXPECT_FALSE(rig.take(0, 0, 9));
    EXPECT_TRUE(rig.take(0, 0, 1));
    EXPECT_TRUE(rig.take(1, 0, 9)) << "this one is open";
}

TEST(BoardBooks, WhatCameBeforeTheBoardItselfSpokeIsDisowned) {
    Rig rig;
    EXPECT_TRUE(rig.take(0, 7, 9)) << "the first that speaks";
    EXPECT_TRUE(rig.take(0, 8, 9));
    std::uint32_t sequence = 0;
    while (!rig.take(0, sequence, 1)) ASSERT_LT(++sequence, 100U) << "who sends more is the board";
    EXPECT_EQ(rig.count(0, C::disowned), 2U);
    EXPECT_EQ(rig.count(0, C::source_changes), 1U);
    EXPECT_EQ(rig.count(0, C::used), 3U);
    EXPECT_FALSE(rig.take(0, 9, 9));
    EXPECT_EQ(rig.count(0, C::packets), rig.count(0, C::used) + rig.count(0, C::strangers));
    rig.books.close();
    ASSERT_EQ(rig.books.log(0).expected.ranges().size(), 1U);
    EXPECT_EQ(rig.books.log(0).expected.ranges()[0].end, sequence + 1) << "nothing of the stranger's numbers is left";
}

TEST(BoardBooks, SaysHowManyBoardsHaveComeToANumber) {
    Rig rig;
    rig.take(0, 0);
    rig.take(0, 1);
    rig.take(1, 0, 2);
    EXPECT_EQ(rig.books.n_boards_at(1), 2U);
    EXPECT_EQ(rig.books.n_boards_at(2), 1U);
    EXPECT_EQ(rig.books.n_boards_at(3), 0U);
}

}  // namespace
}  // namespace anello::receive::board_books_test

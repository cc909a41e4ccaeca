// SPDX-License-Identifier: Apache-2.0
#include "receive/card/sequence_books.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/errors.hpp"

namespace anello::receive::sequence_books_test {
namespace {

using C = CardCounter;

constexpr SourceAddress here(0x7f000001, 4711), elsewhere(0x7f000001, 4712);

wire::Summary numbered(std::uint32_t sequence, std::uint32_t source_id = 7, std::uint32_t series = 0) {
    return {.has_sequence = true, .sequence = sequence, .series = series, .source_id = source_id};
}

class Rig {
  public:
    explicit Rig(std::size_t max_sources = 4) : books(max_sources, counters) {}
    void take(std::initializer_list<std::uint32_t> sequences, std::uint32_t series = 0) {
        for (const std::uint32_t sequence : sequences) books.take(numbered(sequence, 7, series), here);
    }
    std::uint64_t operator[](C counter) const { return counters[counter]; }
    std::uint64_t sum() const {
        std::uint64_t n = 0;
        for (const C fate : {C::in_order, C::late, C::duplicates, C::strays, C::restarts, C::untracked})
            n += counters[fate];
        return n;
    }

    CounterPage page;
    Counters<CardCounter> counters = page.add_block<CardCounter>("card.port0.losses");
    SequenceBooks books;
};

TEST(SequenceBooks, TellGapsLateAndDoublePackets) {
    Rig rig;
    rig.take({0, 1, 5, 3, 3, 6, 0x4000'0000});
    EXPECT_EQ(rig[C::numbered], 7U);
    EXPECT_EQ(rig[C::in_order], 4U);
    EXPECT_EQ(rig[C::late], 1U);
    EXPECT_EQ(rig[C::duplicates], 1U);
    EXPECT_EQ(rig[C::strays], 1U);
    EXPECT_EQ(rig[C::lost], 2U) << "2 and 4";
    rig.take({4});
    EXPECT_EQ(rig[C::lost], 1U);
    ASSERT_EQ(rig.books.sources().size(), 1U);
    const SequencedSource& source = rig.books.sources()[0];
    EXPECT_EQ(source.address, here);
    EXPECT_EQ(source.source_id, 7U);
    EXPECT_EQ(source.n_packets, 8U);
    EXPECT_EQ(source.n_late, 2U);
    EXPECT_EQ(source.n_lost, 1U);
}

TEST(SequenceBooks, WhatASourceSentBeforeIsNotLost) {
    Rig rig;
    rig.take({5000, 5001, 4999});
    EXPECT_EQ(rig[C::lost], 0U);
    EXPECT_EQ(rig[C::late], 1U);
}

TEST(SequenceBooks, ASourceThatBeginsAnewIsKnownByItsSecondPacket) {
    Rig rig;
    rig.take({50'000, 50'001, 0, 1, 2});
    EXPECT_EQ(rig[C::strays], 1U);
    EXPECT_EQ(rig[C::restarts], 1U);
    EXPECT_EQ(rig[C::lost], 1U) << "its packet 0, which was not sure";
}

TEST(SequenceBooks, AMarkerTellsWhatIsMissingAtTheEnd) {
    Rig rig;
    const auto marker = [](std::uint32_t next) {
        return wire::Summary{.says_next = true, .sequence = next, .source_id = 7};
    };
    rig.books.take(marker(100), here);
    rig.take({100, 101});
    rig.books.take(marker(104), here);
    rig.books.take(marker(104), here);
    EXPECT_EQ(rig[C::numbered], 2U);
    EXPECT_EQ(rig[C::lost], 2U);
}

TEST(SequenceBooks, NumbersThatBeginAnewInEachSeriesAreFollowedInEach) {
    Rig rig;
    rig.take({3, 4}, 8);  // joined in the middle
    rig.take({0, 2}, 9);
    rig.take({5}, 8);  // late, of a series that is over
    rig.take({3}, 9);
    rig.take({1, 2}, 11);
    EXPECT_EQ(rig[C::lost], 2U) << "1 of series 9, 0 of series 11";
    EXPECT_EQ(rig[C::strays], 1U);
    EXPECT_EQ(rig[C::duplicates], 0U);
    for (std::uint32_t i = 0; i < 16; ++i) rig.take({i}, 1);  // one damaged series must not end it for ever
    rig.take({16, 17}, 1);
    EXPECT_EQ(rig[C::strays], 16U);
    EXPECT_EQ(rig[C::in_order], 7U + 3U);
}

TEST(SequenceBooks, APacketTakesAsManyNumbersAsItSays) {
    Rig rig;
    wire::Summary events = numbered(0);
    events.n_numbers = 8;
    for (const std::uint32_t first : {0U, 8U, 24U}) {
        events.sequence = first;
        rig.books.take(events, here);
    }
    EXPECT_EQ(rig[C::lost], 8U);
    events.n_numbers = 0;
    rig.books.take(events, here);
    EXPECT_EQ(rig[C::numbered], 3U) << "gaps of such a format mean nothing";
}

TEST(SequenceBooks, SourcesAreFollowedByThemselvesAndTheirNumberIsLimited) {
    Rig rig(3);
    for (std::uint32_t i = 0; i < 10; ++i) {
        rig.books.take(numbered(i, 1), here);
        rig.books.take(numbered(100 + i, 1), elsewhere);
        rig.books.take(numbered(2 * i, 2), here);
        rig.books.take(numbered(i, i), SourceAddress(i, 5));
    }
    EXPECT_EQ(rig[C::sources], 3U);
    EXPECT_EQ(rig[C::untracked], 10U);
    EXPECT_EQ(rig[C::lost], 9U);
    EXPECT_EQ(rig.books.sources()[2].n_lost, 9U);
    EXPECT_EQ(rig.sum(), rig[C::numbered]);
}

TEST(SequenceBooks, EveryPacketHasOneFateWhateverComes) {
    for (const unsigned seed : {1U, 2U, 3U}) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        Rig rig(4);
        for (int i = 0; i < 20'000; ++i) {
            wire::Summary packet =
                numbered(random() % 3 == 0 ? random() : random() % 40'000, random() % 3, random() % 4);
            packet.n_numbers = random() % 300;
            packet.has_sequence = random() % 16 != 0;
            packet.says_next = !packet.has_sequence;
            rig.books.take(packet, SourceAddress(1, random() % 3));
        }
        std::uint64_t n_packets = 0, n_lost = 0;
        for (const SequencedSource& source : rig.books.sources()) {
            n_packets += source.n_packets;
            n_lost += source.n_lost;
        }
        EXPECT_EQ(rig.sum(), rig[C::numbered]);
        EXPECT_EQ(n_packets + rig[C::untracked], rig[C::numbered]);
        EXPECT_EQ(n_lost, rig[C::lost]);
    }
}

TEST(SequenceBooks, RefuseTooManySources) {
    EXPECT_THROW(Rig(0), ConfigError);
    EXPECT_THROW(Rig(4097), ConfigError);
}

}  // namespace
}  // namespace anello::receive::sequence_books_test

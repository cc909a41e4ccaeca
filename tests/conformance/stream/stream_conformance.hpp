// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "unit/stream/shared_pair.hpp"

/// What every way to carry a stream must do. A carrier joins two streams:
///   struct Carrier {
///     explicit Carrier(const StreamConfig& near, const StreamConfig& far);
///     Stream& near(); Stream& far();          // each may be used by a thread of its own
///     Counters<StreamCounter> near_counters, far_counters;
///     void kill_far();                        // as if its process had died
///   };
namespace anello::stream::conformance {

using anello::test::patience_ns;
using test::random_bytes;
using test::small_config;
using enum StreamStatus;

inline ConstBytes bytes_of(const char* text) {
    return std::as_bytes(std::span(text, std::strlen(text)));
}
inline std::string text_of(ConstBytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline bool readable(int descriptor, int timeout_ms) {
    pollfd watched{descriptor, POLLIN, 0};
    return poll(&watched, 1, timeout_ms) == 1;
}

template <typename Carrier>
class StreamConformance : public testing::Test {};
TYPED_TEST_SUITE_P(StreamConformance);

TYPED_TEST_P(StreamConformance, WhatIsSentComesBothWays) {
    TypeParam pair(small_config(), small_config());
    std::array<std::byte, 16> room;
    ASSERT_EQ(pair.near().send(bytes_of("to the far side"), patience_ns).n_bytes, 15U);
    const Transfer there = pair.far().recv(room, patience_ns);
    EXPECT_EQ(text_of(Bytes(room).first(there.n_bytes)), "to the far side");
    ASSERT_EQ(pair.far().send(bytes_of("and back"), patience_ns).n_bytes, 8U);
    const Transfer back = pair.near().recv(room, patience_ns);
    EXPECT_EQ(text_of(Bytes(room).first(back.n_bytes)), "and back");
}

TYPED_TEST_P(StreamConformance, NothingThereIsWouldBlockAndThenTimeout) {
    TypeParam pair(small_config(), small_config());
    std::array<std::byte, 16> room;
    EXPECT_EQ(pair.far().try_recv(room).status, would_block);
    EXPECT_EQ(pair.far().recv(room, 1000).status, timeout);
    EXPECT_EQ(pair.far_counters[StreamCounter::receiver_timeouts], 1U);
}

TYPED_TEST_P(StreamConformance, AFullRingTakesAPartAndThenNothing) {
    TypeParam pair(small_config(), small_config());
    const std::vector<std::byte> more_than_fits(smallest_ring_bytes + 1000);
    const Transfer part = pair.near().try_send(more_than_fits);
    EXPECT_EQ(part.status, ok);
    EXPECT_EQ(part.n_bytes, smallest_ring_bytes);
    EXPECT_EQ(pair.near().try_send(more_than_fits).status, would_block);
    EXPECT_EQ(pair.near().send(more_than_fits, 1000).status, timeout);
    EXPECT_EQ(pair.near_counters[StreamCounter::sender_timeouts], 1U);
}

/// Much more than the ring, both ways at once, with every way to wait.
TYPED_TEST_P(StreamConformance, ManyRoundsOfTheRingBothWaysAtOnce) {
    for (const WaitMode wait : {WaitMode::block, WaitMode::spin_then_sleep}) {
        StreamConfig config = small_config();
        config.wait = wait;
        TypeParam pair(config, config);
        std::mt19937 random(1);
        const std::vector<std::byte> there = random_bytes(random, 3'000'017), back = random_bytes(random, 2'000'003);
        std::vector<std::byte> got_there(there.size()), got_back(back.size());
        const auto both = [](Stream& stream, ConstBytes out, Bytes in) {
            // One thread for both ways: neither may wait for ever on the other.
            while (!out.empty() || !in.empty()) {
                const Transfer sent = stream.send(out, out.empty() ? 0 : 100'000);
                out = out.subspan(sent.n_bytes);
                const Transfer got = in.empty() ? Transfer{} : stream.recv(in, 100'000);
                in = in.subspan(got.n_bytes);
                if (got.status == corrupt || got.status == peer_died || sent.status == corrupt) return;
            }
        };
        std::thread far([&] { both(pair.far(), back, got_there); });
        both(pair.near(), there, got_back);
        far.join();
        EXPECT_TRUE(got_there == there);
        EXPECT_TRUE(got_back == back);
    }
}

TYPED_TEST_P(StreamConformance, PartsAreSentAndReceivedInTheirOrder) {
    TypeParam pair(small_config(), small_config());
    const std::array parts{bytes_of("one, "), bytes_of(""), bytes_of("two, "), bytes_of("three")};
    EXPECT_EQ(pair.near().send(parts, patience_ns).n_bytes, 15U);
    std::array<std::byte, 15> whole;
    EXPECT_EQ(pair.far().recv_all(whole, patience_ns).status, ok);
    EXPECT_EQ(text_of(whole), "one, two, three");
    pair.near().send(bytes_of("abcdef"), patience_ns);
    std::array<std::byte, 2> first;
    std::array<std::byte, 9> second;
    const std::array<Bytes, 2> rooms{first, second};
    ConstBytes all;
    ASSERT_EQ(pair.far().peek(all, 6, patience_ns), ok);
    EXPECT_EQ(pair.far().recv(rooms, patience_ns).n_bytes, 6U);
    EXPECT_EQ(text_of(first) + text_of(Bytes(second).first(4)), "abcdef");
}

TYPED_TEST_P(StreamConformance, ReservedRoomIsWrittenInPlaceAndReadWhereItLies) {
    TypeParam pair(small_config(), small_config());
    const std::size_t n_bytes = smallest_ring_bytes - 5000;
    for (int round = 0; round < 5; ++round) {  // so that it wraps
        Bytes room;
        ASSERT_EQ(pair.near().reserve(n_bytes, room, patience_ns), ok);
        ASSERT_EQ(room.size(), n_bytes);
        std::memset(room.data(), round, room.size());
        pair.near().commit(n_bytes - 100);
        ConstBytes found;
        ASSERT_EQ(pair.far().peek(found, n_bytes - 100, patience_ns), ok);
        ASSERT_EQ(found.size(), n_bytes - 100);
        for (const std::byte byte : found) ASSERT_EQ(byte, static_cast<std::byte>(round));
        pair.far().release(found.size());
    }
    Bytes room;
    EXPECT_EQ(pair.near().reserve(smallest_ring_bytes + 1, room), too_large);
    ConstBytes found;
    EXPECT_EQ(pair.far().peek(found, smallest_ring_bytes + 1), too_large);
}

TYPED_TEST_P(StreamConformance, MessagesKeepTheirBoundsAndLieInOnePiece) {
    TypeParam pair(small_config(), small_config());
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        const auto sent = random_bytes(random, random() % 20'000);
        ASSERT_EQ(pair.near().send_message(sent, patience_ns), ok);
        ConstBytes message;
        ASSERT_EQ(pair.far().peek_message(message, patience_ns), ok);
        ASSERT_TRUE(std::equal(message.begin(), message.end(), sent.begin(), sent.end()));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 8, 0U);
        pair.far().release_message();
    }
    EXPECT_EQ(pair.far_counters[StreamCounter::messages_received], 200U);
}

TYPED_TEST_P(StreamConformance, AMessageThatCanNeverFitIsRefusedAndCounted) {
    TypeParam pair(small_config(), small_config());
    const std::vector<std::byte> largest(pair.near().largest_message()), larger(largest.size() + 1);
    EXPECT_EQ(pair.near().send_message(larger, patience_ns), too_large);
    EXPECT_EQ(pair.near_counters[StreamCounter::messages_too_large], 1U);
    EXPECT_EQ(pair.near().send_message(largest, patience_ns), ok);
    EXPECT_EQ(pair.near().send_message({}, 0), would_block);
    std::vector<std::byte> room(largest.size());
    EXPECT_EQ(pair.far().recv_message(Bytes(room).first(8), patience_ns).status, too_large);
    const Transfer whole = pair.far().recv_message(room, patience_ns);
    EXPECT_EQ(whole.status, ok);
    EXPECT_EQ(whole.n_bytes, largest.size());
}

TYPED_TEST_P(StreamConformance, HalfAMessageIsNeitherGivenNorReleased) {
    TypeParam pair(small_config(), small_config());
    const std::array<std::uint64_t, 2> first_half{16, 1};
    const std::uint64_t second_half = 2;
    pair.near().send(std::as_bytes(std::span(first_half)), patience_ns);
    ConstBytes message;
    EXPECT_EQ(pair.far().peek_message(message, 1000), timeout);
    pair.far().release_message();
    pair.near().send(std::as_bytes(std::span(&second_half, 1)), patience_ns);
    ASSERT_EQ(pair.far().peek_message(message, patience_ns), ok);
    EXPECT_EQ(message.size(), 16U);
    EXPECT_EQ(message[8], std::byte{2});
}

TYPED_TEST_P(StreamConformance, WhatIsSentTakesThePlaceOfWhatWasReserved) {
    TypeParam pair(small_config(), small_config());
    Bytes room;
    ASSERT_EQ(pair.near().reserve(100, room, patience_ns), ok);
    EXPECT_EQ(pair.near().reserved_bytes(), 100U);
    pair.near().send(bytes_of("sent"), patience_ns);
    EXPECT_EQ(pair.near().reserved_bytes(), 0U);
    pair.near().commit(0);
    pair.near().finish();
    std::array<std::byte, 200> all;
    EXPECT_EQ(pair.far().recv_all(all, patience_ns).n_bytes, 4U);
}

TYPED_TEST_P(StreamConformance, TheEndOfStreamComesAfterTheLastByte) {
    TypeParam pair(small_config(), small_config());
    pair.near().send(bytes_of("last words"), patience_ns);
    pair.near().finish();
    EXPECT_EQ(pair.near().send(bytes_of("more")).status, closed);
    std::array<std::byte, 32> room;
    const Transfer words = pair.far().recv_all(room, patience_ns);
    EXPECT_EQ(words.status, closed);
    EXPECT_EQ(words.n_bytes, 10U);
    EXPECT_EQ(pair.far().recv(room, patience_ns).status, closed);
    // The other way is still open.
    EXPECT_EQ(pair.far().send(bytes_of("answer"), patience_ns).status, ok);
    EXPECT_EQ(pair.near().recv(room, patience_ns).n_bytes, 6U);
    EXPECT_EQ(pair.near_counters[StreamCounter::bytes_sent], pair.far_counters[StreamCounter::bytes_received]);
}

TYPED_TEST_P(StreamConformance, TheEndWithinAMessageIsABrokenFrame) {
    TypeParam pair(small_config(), small_config());
    const std::uint64_t length = 100;
    pair.near().send(std::as_bytes(std::span(&length, 1)), patience_ns);
    pair.near().finish();
    ConstBytes message;
    EXPECT_EQ(pair.far().peek_message(message, patience_ns), corrupt);
    EXPECT_EQ(pair.far_counters[StreamCounter::receiver_corrupt], 1U);
}

TYPED_TEST_P(StreamConformance, ALengthThatCannotBeIsABrokenFrame) {
    for (const std::uint64_t length : {std::uint64_t{smallest_ring_bytes - 7}, ~std::uint64_t{0}}) {
        TypeParam pair(small_config(), small_config());
        pair.near().send(std::as_bytes(std::span(&length, 1)), patience_ns);
        ConstBytes message;
        EXPECT_EQ(pair.far().peek_message(message, patience_ns), corrupt);
        EXPECT_TRUE(message.empty());
    }
}

TYPED_TEST_P(StreamConformance, AReceiverThatStopsTellsTheSenderAlsoWhenItSleeps) {
    TypeParam pair(small_config(), small_config());
    const std::vector<std::byte> many(4 * smallest_ring_bytes);
    StreamStatus status = ok;
    std::thread sender([&] { status = pair.near().send(many, patience_ns).status; });
    std::array<std::byte, 100> room;
    pair.far().recv_all(room, patience_ns);
    pair.far().stop_receiving();
    sender.join();
    EXPECT_EQ(status, closed);
    EXPECT_EQ(pair.near().send(many, patience_ns).status, closed);
}

TYPED_TEST_P(StreamConformance, WhatADeadPeerPublishedIsTakenFirst) {
    TypeParam pair(small_config(), small_config());
    pair.far().send(bytes_of("before"), patience_ns);
    std::array<std::byte, 32> room;
    ConstBytes found;
    ASSERT_EQ(pair.near().peek(found, 6, patience_ns), ok);
    pair.kill_far();
    EXPECT_EQ(pair.near().recv(room, patience_ns).n_bytes, 6U);
    EXPECT_EQ(pair.near().recv(room, patience_ns).status, peer_died);
    const std::vector<std::byte> many(4 * smallest_ring_bytes);
    EXPECT_EQ(pair.near().send(many, patience_ns).status, peer_died);
    EXPECT_EQ(pair.near_counters[StreamCounter::receiver_peer_died], 1U);
    EXPECT_EQ(pair.near_counters[StreamCounter::sender_peer_died], 1U);
}

TYPED_TEST_P(StreamConformance, ADeathIsFoundWithoutWaitingToo) {
    TypeParam pair(small_config(), small_config());
    pair.kill_far();
    std::array<std::byte, 32> room;
    StreamStatus received = would_block, sent = ok;
    for (int n = 0; n < 100'000 && received == would_block; ++n) received = pair.near().try_recv(room).status;
    for (int n = 0; n < 100'000 && sent != peer_died; ++n) sent = pair.near().try_send(bytes_of("x")).status;
    EXPECT_EQ(received, peer_died);
    EXPECT_EQ(sent, peer_died);
}

TYPED_TEST_P(StreamConformance, DescriptorsTellOfDataSpaceAndDeath) {
    TypeParam pair(small_config(), small_config());
    const int data = pair.near().data_descriptor(), space = pair.far().space_descriptor();
    std::vector<std::byte> room(smallest_ring_bytes);
    EXPECT_EQ(pair.near().try_recv(room).status, would_block);
    EXPECT_FALSE(readable(data, 0));
    EXPECT_EQ(pair.far().try_send(room).n_bytes, room.size());
    EXPECT_TRUE(readable(data, anello::test::patience_ms));
    EXPECT_EQ(pair.far().try_send(room).status, would_block);
    EXPECT_FALSE(readable(space, 0));
    EXPECT_EQ(pair.near().recv_all(room, patience_ns).status, ok);
    EXPECT_TRUE(readable(space, anello::test::patience_ms));
    StreamStatus status = ok;
    for (int n = 0; n < 100 && status != would_block; ++n) status = pair.near().try_recv(room).status;
    pair.kill_far();
    EXPECT_TRUE(readable(data, anello::test::patience_ms));
}

TYPED_TEST_P(StreamConformance, OneWayOnly) {
    TypeParam pair(small_config(Direction::send), small_config(Direction::receive));
    EXPECT_TRUE(pair.near().sends());
    EXPECT_FALSE(pair.near().receives());
    EXPECT_EQ(pair.near().send(bytes_of("down"), patience_ns).status, ok);
    EXPECT_EQ(pair.far().send(bytes_of("up")).status, closed);
    std::array<std::byte, 8> room;
    EXPECT_EQ(pair.near().recv(room).status, closed);
    EXPECT_EQ(pair.far().recv(room, patience_ns).n_bytes, 4U);
}

REGISTER_TYPED_TEST_SUITE_P(StreamConformance, WhatIsSentComesBothWays, NothingThereIsWouldBlockAndThenTimeout,
                            AFullRingTakesAPartAndThenNothing, ManyRoundsOfTheRingBothWaysAtOnce,
                            PartsAreSentAndReceivedInTheirOrder, ReservedRoomIsWrittenInPlaceAndReadWhereItLies,
                            MessagesKeepTheirBoundsAndLieInOnePiece, AMessageThatCanNeverFitIsRefusedAndCounted,
                            HalfAMessageIsNeitherGivenNorReleased, WhatIsSentTakesThePlaceOfWhatWasReserved,
                            TheEndOfStreamComesAfterTheLastByte, TheEndWithinAMessageIsABrokenFrame,
                            ALengthThatCannotBeIsABrokenFrame, AReceiverThatStopsTellsTheSenderAlsoWhenItSleeps,
                            WhatADeadPeerPublishedIsTakenFirst, ADeathIsFoundWithoutWaitingToo,
                            DescriptorsTellOfDataSpaceAndDeath, OneWayOnly);

}  // namespace anello::stream::conformance

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <numeric>
#include <thread>

#include "stream/ring/shared_ends.hpp"
#include "unit/stream/shared_pair.hpp"

namespace anello::stream::ring_test {
namespace {

using anello::test::patience_ns;
using test::small_config;
using enum StreamStatus;

/// A sender and a receiver in one mapping, whose header lies open to the test. The thread sanitizer sees all of it.
struct OpenRing {
    explicit OpenRing(const StreamConfig& config = small_config())
        : ring(std::make_shared<const RingMemory>(RingMemory::create(config.ring_bytes))) {
        int sockets[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        const auto line = [](int socket) { return std::make_shared<BellLine>(Descriptor(socket)); };
        sender =
            std::make_unique<Sender>(std::make_unique<SharedSendEnd>(ring, line(sockets[0])), config, send_counters);
        receiver = std::make_unique<Receiver>(std::make_unique<SharedReceiveEnd>(ring, line(sockets[1])), config,
                                              receive_counters);
    }
    RingHeader& header() const { return ring->header(); }

    CounterPage page;
    Counters<StreamCounter> send_counters = page.add_block<StreamCounter>("send"),
                            receive_counters = page.add_block<StreamCounter>("receive");
    SharedRing ring;
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Receiver> receiver;
};

TEST(Ring, WhatWrapsAroundTheEndIsInOnePiece) {
    const RingMemory ring = RingMemory::create(smallest_ring_bytes);
    ring.bytes()[0] = std::byte{1};
    EXPECT_EQ(ring.bytes()[smallest_ring_bytes], std::byte{1});
    ring.bytes()[2 * smallest_ring_bytes - 1] = std::byte{2};
    EXPECT_EQ(ring.bytes()[smallest_ring_bytes - 1], std::byte{2});
}

TEST(Ring, AHeadThatCannotBeIsCorruptForEver) {
    for (const std::uint64_t head : {std::uint64_t{smallest_ring_bytes + 1}, ~std::uint64_t{0}, std::uint64_t{99}}) {
        OpenRing open;
        std::array<std::byte, 100> room;
        ASSERT_EQ(open.sender->send(room).status, ok);
        ConstBytes found;
        ASSERT_EQ(open.receiver->peek(found), ok);  // so that 99 takes one back
        open.header().head.store(head);
        EXPECT_EQ(open.receiver->peek(found, 101, 0), corrupt) << head;
        EXPECT_TRUE(found.empty());
        open.header().head.store(100);
        EXPECT_EQ(open.receiver->try_recv(room).status, corrupt);
        EXPECT_EQ(open.receiver->recv_all(room).status, corrupt);
        EXPECT_EQ(open.receive_counters[StreamCounter::receiver_corrupt], 1U);
    }
}

TEST(Ring, ATailThatCannotBeIsCorruptForEver) {
    for (const std::uint64_t tail : {std::uint64_t{smallest_ring_bytes + 51}, ~std::uint64_t{0}, std::uint64_t{49}}) {
        OpenRing open;
        const std::vector<std::byte> full(smallest_ring_bytes);
        ASSERT_EQ(open.sender->send(full).status, ok);
        open.header().tail.store(50);
        ASSERT_EQ(open.sender->try_send(std::span(full).first(50)).n_bytes, 50U);  // so that 49 takes one back
        open.header().tail.store(tail);
        EXPECT_EQ(open.sender->try_send(full).status, corrupt) << tail;
        open.header().tail.store(50);
        EXPECT_EQ(open.sender->send(full, patience_ns).status, corrupt);
        EXPECT_EQ(open.send_counters[StreamCounter::sender_corrupt], 1U);
    }
}

TEST(Ring, ATailBeyondWhatWasSentIsCorruptThoughThereIsRoomInTheRing) {
    for (const std::uint64_t tail : {100, 101}) {
        OpenRing open;
        const std::vector<std::byte> part(100);
        ASSERT_EQ(open.sender->send(part).status, ok);
        open.header().tail.store(tail);
        open.sender->unread_bytes();  // looks at the tail
        EXPECT_EQ(open.sender->try_send(part).status, tail == 100 ? ok : corrupt);
    }
}

TEST(Ring, TheIndicesWrapAsWellAsTheBytes) {
    // From the ring's memory alone nobody could tell; a sender that has sent 2^64 bytes is out of reach, but every
    // comparison must be one of differences. 40 rounds of the ring in odd pieces.
    OpenRing open;
    std::vector<std::byte> sent(smallest_ring_bytes - 999), got(sent.size());
    for (int round = 0; round < 40; ++round) {
        std::fill(sent.begin(), sent.end(), static_cast<std::byte>(round));
        ASSERT_EQ(open.sender->try_send(sent).n_bytes, sent.size());
        ASSERT_EQ(open.receiver->recv_all(got, 0).status, ok);
        ASSERT_EQ(got, sent);
    }
}

/// Both sides sleep and wake each other all the time: a lost bell would stop the test.
TEST(Ring, TwoThreadsThatSleepInTurn) {
    for (const std::size_t n_piece : {std::size_t{8}, std::size_t{30'000}}) {
        OpenRing open;
        const std::size_t n_pieces = n_piece == 8 ? 20'000 : 300;
        std::thread sending([&] {
            std::vector<std::uint32_t> words(n_piece / 4);
            for (std::size_t piece = 0; piece < n_pieces; ++piece) {
                std::iota(words.begin(), words.end(), static_cast<std::uint32_t>(piece * words.size()));
                ASSERT_EQ(open.sender->send(std::as_bytes(std::span(words)), patience_ns).status, ok);
            }
            open.sender->finish();
        });
        std::uint32_t expected = 0, n_wrong = 0;
        std::uint32_t word = 0;
        while (open.receiver->recv_all(std::as_writable_bytes(std::span(&word, 1)), patience_ns).status == ok)
            n_wrong += word != expected++;
        sending.join();
        EXPECT_EQ(expected, n_pieces * n_piece / 4);
        EXPECT_EQ(n_wrong, 0U);
    }
}

/// Otherwise a receiver that wants all that fits would wait for the sender, and the sender for it.
TEST(Ring, ASenderThatWaitsHasShownAllThatItWrote) {
    OpenRing open;
    const std::vector<std::byte> most(smallest_ring_bytes - 100), little(100), more(4096);
    ASSERT_EQ(open.sender->try_send(most).n_bytes, most.size());
    const std::array<ConstBytes, 2> parts{little, more};
    Transfer sent;
    std::thread sending([&] { sent = open.sender->send(parts, patience_ns); });
    ConstBytes all;
    EXPECT_EQ(open.receiver->peek(all, smallest_ring_bytes, patience_ns), ok);
    open.receiver->release(all.size());
    sending.join();
    EXPECT_EQ(sent.n_bytes, little.size() + more.size());
}

/// Otherwise a thread that polls would be woken again and again by a bell that it has heard.
TEST(Ring, APollersBellIsSilentAgainWhenItFindsNoRoom) {
    OpenRing open;
    pollfd space{open.sender->space_descriptor(), POLLIN, 0};
    std::vector<std::byte> all(smallest_ring_bytes);
    for (int round = 0; round < 2; ++round) {
        ASSERT_EQ(open.sender->try_send(all).n_bytes, all.size());
        ASSERT_EQ(open.sender->try_send(all).status, would_block);
        EXPECT_EQ(poll(&space, 1, 0), 0);
        ASSERT_EQ(open.receiver->recv_all(all, 0).status, ok);
        EXPECT_EQ(poll(&space, 1, 0), 1);
    }
}

TEST(Ring, AnIdleReceiverThatBlocksUsesNoProcessor) {
    test::SharedPair pair;
    std::array<std::byte, 8> room;
    timespec before{}, after{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    EXPECT_EQ(pair.far->recv(room, 50'000'000).status, timeout);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    EXPECT_EQ(pair.far_counters[StreamCounter::receiver_sleeps], 1U);
    EXPECT_LT((after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec, 5'000'000);
}

}  // namespace
}  // namespace anello::stream::ring_test

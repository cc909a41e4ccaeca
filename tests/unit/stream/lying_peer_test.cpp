// SPDX-License-Identifier: Apache-2.0
#include "unit/stream/lying_peer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <thread>

/// A peer that came in as it should. Whatever it does with the memory in its reach, no call waits past its time-out.
namespace anello::stream::lying_peer_test {
namespace {

using anello::test::patience_ns;
using test::Listening;
using test::LyingPeer;
using test::small_config;
using enum StreamStatus;

constexpr Nanoseconds short_ns = 20'000'000;

struct LyingPeerTest : testing::Test {
    /// A stream with a peer that lies.
    void meet(WaitMode wait = WaitMode::block) {
        StreamConfig config = small_config();
        config.wait = wait;
        config.spin_ns = 1'000'000;
        listening = std::make_unique<Listening>(config);
        auto accepted =
            std::async(std::launch::async, [&] { return listening->listener.accept(counters, patience_ns); });
        peer = std::make_unique<LyingPeer>(listening->listener.address(), 3);
        stream = accepted.get();
        ASSERT_NE(stream, nullptr);
    }

    CounterPage page;
    Counters<StreamCounter> counters = page.add_block<StreamCounter>("stream");
    std::unique_ptr<Listening> listening;
    std::unique_ptr<LyingPeer> peer;
    std::unique_ptr<Stream> stream;
};

TEST_F(LyingPeerTest, AsksForABellAgainAndAgainAndTakesNone) {
    meet();
    const std::array<std::byte, 8> bytes{};
    RingHeader& header = peer->own.header();
    for (std::uint64_t n = 1; n <= 20'000; ++n) {
        header.receiver_waits = 1;
        ASSERT_EQ(stream->send(bytes, 0).status, ok);
        header.tail = 8 * n;
    }
    EXPECT_EQ(counters[StreamCounter::data_bells_rung], 20'000U);
}

TEST_F(LyingPeerTest, MakesItsEndBlockingAndFullBeforeAnEndOfStream) {
    meet();
    const int flags = fcntl(peer->socket.number(), F_GETFL);
    ASSERT_EQ(fcntl(peer->socket.number(), F_SETFL, flags & ~O_NONBLOCK), 0);
    peer->flood();
    peer->own.header().receiver_waits = 1;
    ASSERT_EQ(stream->send(std::array<std::byte, 8>{}, 0).status, ok);
    stream->close();
    EXPECT_EQ(peer->own.header().sender_ended, 1U);
}

TEST_F(LyingPeerTest, RingsWithoutAnythingToTell) {
    for (const WaitMode wait : {WaitMode::spin, WaitMode::spin_then_sleep, WaitMode::block}) {
        meet(wait);
        std::atomic<bool> over{false};
        std::thread ringing([&] {
            while (!over) peer->flood();
        });
        std::array<std::byte, 8> room;
        EXPECT_EQ(stream->recv(room, short_ns).status, timeout);
        EXPECT_EQ(stream->recv_all(room, short_ns).status, timeout);
        const std::vector<std::byte> more(2 * smallest_ring_bytes);
        const Transfer sent = stream->send(more, short_ns);
        EXPECT_EQ(sent.status, timeout);
        EXPECT_EQ(sent.n_bytes, smallest_ring_bytes);
        over = true;
        ringing.join();
    }
}

/// The words of the ring are the peer's to change at any time, our own wishes among them.
TEST_F(LyingPeerTest, TakesOurWishesAwayAndNeverRings) {
    meet();
    const RingMemory theirs = RingMemory::attach(std::move(peer->theirs.descriptors.at(0)), smallest_ring_bytes);
    std::atomic<bool> over{false};
    std::thread taking([&] {
        while (!over) theirs.header().receiver_waits = 0;
    });
    std::array<std::byte, 8> room;
    EXPECT_EQ(stream->recv(room, short_ns).status, timeout);
    over = true;
    taking.join();
}

TEST_F(LyingPeerTest, GivesBackByteByByteAndIsWaitedForNoLongerThanOnce) {
    meet();
    std::atomic<bool> over{false};
    std::thread giving([&] {
        RingHeader& header = peer->own.header();
        while (!over && header.tail < header.head) ++header.tail;
    });
    const std::vector<std::byte> more(8 * smallest_ring_bytes);
    const Transfer sent = stream->send(more, short_ns);
    EXPECT_TRUE(sent.status == timeout || sent.status == ok);
    over = true;
    giving.join();
}

TEST(LetGo, MemoryAndDescriptorsGoBackAndTheEndStaysTheEnd) {
    const auto open_ones = [] {
        std::set<std::string> names;
        for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
            names.insert(one.path().filename());
        return names;
    };
    const auto of_others = open_ones();
    test::SharedPair pair;
    const auto n_open = [&] {
        return std::ranges::count_if(open_ones(), [&](const std::string& name) { return !of_others.contains(name); });
    };
    pair.near->send(std::array<std::byte, 8>{});
    pair.near->abandon();
    std::array<std::byte, 8> room;
    ASSERT_EQ(pair.far->recv(room, patience_ns).status, ok);
    EXPECT_FALSE(pair.far->receive_is_over());
    ASSERT_EQ(pair.far->recv(room, patience_ns).status, peer_died);
    ASSERT_TRUE(pair.far->is_over());
    const auto kept = pair.far->receive_memory();
    EXPECT_EQ(kept.use_count(), 2);
    const auto n_before = n_open();
    pair.far->let_go();
    EXPECT_LE(n_open(), n_before - 5);
    EXPECT_EQ(kept.use_count(), 1);
    EXPECT_EQ(pair.far->recv(room, patience_ns).status, peer_died);
    EXPECT_EQ(pair.far->send(room, patience_ns).status, peer_died);
    ConstBytes found;
    EXPECT_EQ(pair.far->peek(found, 1, patience_ns), peer_died);
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(pair.far->data_descriptor(), -1);
}

}  // namespace
}  // namespace anello::stream::lying_peer_test

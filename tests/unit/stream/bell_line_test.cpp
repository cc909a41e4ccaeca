// SPDX-License-Identifier: Apache-2.0
#include "stream/ring/bell_line.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <utility>

namespace anello::stream {
namespace {

/// A line whose other end the test holds, and both bells of it.
struct BellLineTest : testing::Test {
    void SetUp() override {
        std::array<int, 2> pair{};
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
        peer = Descriptor(pair[0]);
        const auto line = std::make_shared<BellLine>(Descriptor(pair[1]));
        space = std::make_unique<Bell>(line, Way::send);
        data = std::make_unique<Bell>(line, Way::receive);
    }
    static bool rings(const Bell& bell) {
        pollfd watched{bell.descriptor(), POLLIN, 0};
        return poll(&watched, 1, 0) == 1;
    }

    Descriptor peer;
    std::unique_ptr<Bell> space, data;
};

TEST_F(BellLineTest, AByteIsTheBellOfBothDirections) {
    EXPECT_FALSE(rings(*data) || rings(*space));
    ring_bell(peer.number());
    EXPECT_TRUE(rings(*data) && rings(*space));
}

/// Two threads sleep, and the wrong one of them may take the byte that was meant for the other.
TEST_F(BellLineTest, WhoTakesAByteWakesTheOtherWhoListens) {
    data->listen(true);
    space->listen(true);
    for (const auto& [taking, other] : {std::pair{space.get(), data.get()}, std::pair{data.get(), space.get()}}) {
        ring_bell(peer.number());
        taking->quiet();
        EXPECT_FALSE(rings(*taking));
        EXPECT_TRUE(rings(*other));
        other->quiet();
        EXPECT_FALSE(rings(*other) || rings(*taking));
    }
}

TEST_F(BellLineTest, WhoDoesNotListenIsLeftInPeace) {
    data->listen(true);
    data->listen(false);
    ring_bell(peer.number());
    space->quiet();
    EXPECT_FALSE(rings(*data));
}

TEST_F(BellLineTest, ALineThatTakesNoMoreIsRungAlready) {
    for (int i = 0; i < 100'000; ++i) data->line().ring();  // nobody takes any at the other end
    EXPECT_TRUE(data->line().peer_alive());
    pollfd watched{peer.number(), POLLIN, 0};
    EXPECT_EQ(poll(&watched, 1, 0), 1);
}

TEST_F(BellLineTest, TheEndIsHeardByBoth) {
    peer = Descriptor();
    EXPECT_TRUE(rings(*data) && rings(*space));
    EXPECT_FALSE(data->line().peer_alive());
    space->quiet();
    EXPECT_TRUE(rings(*space)) << "for ever";
}

}  // namespace
}  // namespace anello::stream

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>

#include "conformance/fabric/fabric_farm.hpp"
#include "core/errors.hpp"
#include "fabric/tcp/tcp_frame.hpp"
#include "unit/fabric/raw_peer.hpp"

namespace anello::fabric::tcp_fabric_test {
namespace {

using conformance::Bytes;
using conformance::Farm;
using conformance::pattern;
using test::bytes_of;
using test::RawSocket;

struct Tcp {
    static FabricConfig config() {
        FabricConfig config;
        config.transport = Transport::tcp;
        config.max_message_bytes = 100'000;
        config.max_in_flight = 8;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_fabric(config, listener, clock, counters);
    }
};

/// A farm of two, whose second peer is played by plain sockets; a fabric of the first peer only.
class TcpFabricTest : public testing::Test {
  protected:
    TcpFabricTest() : farm_(2) {
        farm_.stop(1);
        listening_port_ = listening_.bind_somewhere();
        EXPECT_EQ(listen(listening_.number(), 8), 0);
    }
    std::uint16_t port() { return test::address_of(farm_.fabric(0), 0, farm_.config()).port; }
    std::uint64_t incarnation() { return test::address_of(farm_.fabric(0), 0, farm_.config()).incarnation; }
    TcpHello hello() { return {tcp_magic, tcp_version, 1, farm_.config().farm_id, own_incarnation, incarnation()}; }
    RawSocket greet(const TcpHello& hello) {
        RawSocket socket(SOCK_STREAM);
        socket.connect_to(port());
        socket.send(bytes_of(hello));
        return socket;
    }
    /// Connects as a real peer does, but only half: the fabric waits for an answer, and for a connection from here.
    void meet() {
        PeerAddress address = make_address(farm_.config(), own_incarnation);
        address.peer = 1;
        address.ipv4 = htonl(INADDR_LOOPBACK);
        address.port = listening_port_;
        farm_.fabric(0).connect(1, encode(address));
        ASSERT_TRUE(farm_.until([this] { return listening_.readable(); }));
        from_fabric_.emplace(Descriptor(accept(listening_.number(), nullptr, nullptr)));
        ASSERT_TRUE(farm_.until([this] { return from_fabric_->readable(); }));
        EXPECT_EQ(from_fabric_->receive<TcpHello>().to, own_incarnation);
    }
    void come_up() {
        if (!from_fabric_) meet();
        from_fabric_->send(bytes_of(TcpWelcome{tcp_magic, tcp_version, 1, own_incarnation}));
        if (!to_fabric_) to_fabric_.emplace(greet(hello()));
        ASSERT_TRUE(farm_.until([this] { return farm_.fabric(0).state(1) == PeerState::up; }));
    }
    void expect_strangers(std::uint64_t n) {
        EXPECT_TRUE(farm_.until([&] { return farm_.count(0, FabricCounter::strangers_refused) == n; }));
    }
    void expect_malformed(const FrameHead& head) {
        come_up();
        to_fabric_->send(bytes_of(head));
        EXPECT_TRUE(farm_.until([this] { return farm_.fabric(0).state(1) == PeerState::down; }));
        EXPECT_EQ(farm_.count(0, FabricCounter::malformed), 1U);
        EXPECT_TRUE(farm_.until([this] { return from_fabric_->ended(); })) << "both connections are closed";
    }

    static constexpr std::uint64_t own_incarnation = 4711;
    Farm<Tcp> farm_;
    RawSocket listening_{SOCK_STREAM};
    std::uint16_t listening_port_ = 0;
    std::optional<RawSocket> from_fabric_, to_fabric_;
};

TEST_F(TcpFabricTest, StrangersAreRefusedAndCounted) {
    std::vector<TcpHello> wrong(5, hello());
    wrong[0].magic ^= 1;
    ++wrong[1].version;
    wrong[2].farm_id ^= 1;
    wrong[3].peer = 2;
    wrong[4].to ^= 1;
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        RawSocket socket = greet(wrong[i]);
        expect_strangers(i + 1);
        EXPECT_TRUE(farm_.until([&] { return socket.ended(); }));
    }
    EXPECT_TRUE(farm_.listener(0).changes.empty());
}

TEST_F(TcpFabricTest, WhoSaysNothingIsSentAway) {
    RawSocket socket(SOCK_STREAM);
    socket.connect_to(port());
    socket.send(pattern(1, 3));
    farm_.step(10);
    EXPECT_EQ(farm_.count(0, FabricCounter::strangers_refused), 0U);
    farm_.clock().advance(farm_.config().connect_timeout_ns);
    expect_strangers(1);
    EXPECT_TRUE(farm_.until([&] { return socket.ended(); }));
}

TEST_F(TcpFabricTest, ManyWhoSayNothingDoNotKeepAPeerOut) {
    if (!test::may_open(1200)) GTEST_SKIP() << "a process may not open 1200 descriptors here";
    const std::size_t n_before = test::n_descriptors();
    std::vector<RawSocket> crowd;
    for (int i = 0; i < 1000; ++i) {
        crowd.emplace_back(SOCK_STREAM);
        crowd.back().connect_to(port());
        if (i % 2 == 0) farm_.step(1);
    }
    come_up();
    EXPECT_GT(farm_.count(0, FabricCounter::strangers_refused), 900U);
    constexpr std::size_t bound = 64;
    EXPECT_LE(test::n_descriptors(), n_before + crowd.size() + bound);
}

TEST_F(TcpFabricTest, OfAPeersConnectionsTheFirstIsTaken) {
    meet();
    to_fabric_.emplace(greet(hello()));
    ASSERT_TRUE(farm_.until([this] { return to_fabric_->readable(); }));
    EXPECT_EQ(to_fabric_->receive<TcpWelcome>().peer, 0);
    const RawSocket second = greet(hello());
    farm_.step(100);
    EXPECT_FALSE(second.readable()) << "welcomed in place of the first";
    come_up();
    to_fabric_->send(bytes_of(FrameHead{.kind = FrameKind::message}));
    EXPECT_TRUE(farm_.until([this] { return farm_.listener(0).messages.size() == 1; }));
}

TEST_F(TcpFabricTest, WhoWasDisconnectedIsWelcomeOnlyWhenAskedForAgain) {
    come_up();
    farm_.disconnect(0, 1);
    from_fabric_.reset();
    to_fabric_.emplace(greet(hello()));
    farm_.step(100);
    EXPECT_FALSE(to_fabric_->readable());
    meet();
    ASSERT_TRUE(farm_.until([this] { return to_fabric_->readable(); }));
    EXPECT_EQ(to_fabric_->receive<TcpWelcome>().from, incarnation());
}

TEST_F(TcpFabricTest, TheTimeToConnectBeginsWithTheCall) {
    farm_.clock().advance(2 * farm_.config().connect_timeout_ns);
    come_up();
    EXPECT_EQ(farm_.listener(0).n_changes(1, PeerState::down), 0U);
}

/// Its messages from that time are not read yet.
TEST_F(TcpFabricTest, APauseOfOurOwnIsNoSilenceOfThePeer) {
    come_up();
    farm_.clock().advance(3 * farm_.config().silence_ns());
    farm_.step(1);
    EXPECT_EQ(farm_.fabric(0).state(1), PeerState::up);
    farm_.pass(2 * farm_.config().silence_ns());
    EXPECT_EQ(farm_.fabric(0).state(1), PeerState::down) << "it said nothing";
}

TEST_F(TcpFabricTest, MessagesMayComeByteByByte) {
    come_up();
    const Bytes header = pattern(1, 5), payload = pattern(2, 70);
    FrameHead head{.kind = FrameKind::message, .header_bytes = 5, .payload_bytes = 70};
    Bytes frame = bytes_of(head);
    frame.insert(frame.end(), header.begin(), header.end());
    frame.insert(frame.end(), payload.begin(), payload.end());
    for (const std::byte byte : frame) {
        to_fabric_->send({&byte, 1});
        farm_.step(2);
    }
    ASSERT_TRUE(farm_.until([this] { return farm_.listener(0).messages.size() == 1; }));
    EXPECT_EQ(farm_.listener(0).messages[0].header, header);
    EXPECT_EQ(farm_.listener(0).messages[0].payload, payload);
}

TEST_F(TcpFabricTest, WhatCameBeforeTheEndCounts) {
    come_up();
    Bytes all;
    const Bytes frame = bytes_of(FrameHead{.kind = FrameKind::message});
    for (int i = 0; i < 5000; ++i) all.insert(all.end(), frame.begin(), frame.end());
    farm_.step(5);
    from_fabric_.reset();  // so that the end of this connection is seen before what the other one still holds
    to_fabric_->send(all);
    to_fabric_.reset();
    ASSERT_TRUE(farm_.until([this] { return farm_.fabric(0).state(1) == PeerState::down; }));
    EXPECT_EQ(farm_.listener(0).messages.size(), 5000U);
}

TEST_F(TcpFabricTest, AnUnknownKindClosesTheConnection) {
    expect_malformed({.kind = static_cast<FrameKind>(9)});
}
TEST_F(TcpFabricTest, ALargeMessageClosesTheConnection) {
    expect_malformed({.kind = FrameKind::message, .payload_bytes = 100'001});
}
TEST_F(TcpFabricTest, ALongHeaderClosesTheConnection) {
    expect_malformed({.kind = FrameKind::message, .header_bytes = max_header_bytes + 1});
}
TEST_F(TcpFabricTest, AnAnswerToNothingClosesTheConnection) {
    expect_malformed({.kind = FrameKind::done});
}

TEST_F(TcpFabricTest, AnAnswerOfAnotherLengthClosesTheConnection) {
    come_up();
    Bytes wanted(100, std::byte{1});
    ASSERT_EQ(farm_.fabric(0).get({1, 0, 1000}, 0, wanted, 5), Status::ok);
    to_fabric_->send(bytes_of(FrameHead{.kind = FrameKind::done, .payload_bytes = 101}));
    ASSERT_TRUE(farm_.until([this] { return farm_.fabric(0).state(1) == PeerState::down; }));
    EXPECT_EQ(farm_.listener(0).done.size(), 1U);
    EXPECT_EQ(farm_.listener(0).done[0].status, Status::peer_down);
    EXPECT_EQ(wanted, Bytes(100, std::byte{1}));
}

TEST_F(TcpFabricTest, APeersRegionNumbersAreNotTrusted) {
    come_up();
    Bytes guarded(300);
    const Region region = farm_.fabric(0).register_memory(std::span(guarded).subspan(100, 100));
    const std::uint32_t index = region.index;
    std::vector<FrameHead> wrong{
        {.kind = FrameKind::put, .region = index + 1, .payload_bytes = 4},
        {.kind = FrameKind::put, .region = index, .payload_bytes = 4, .offset = 97},
        {.kind = FrameKind::put, .region = index, .payload_bytes = 4, .offset = UINT64_MAX - 1},
        {.kind = FrameKind::put, .region = index, .payload_bytes = 101}};
    for (const FrameHead& head : wrong) {
        to_fabric_->send(bytes_of(head));
        to_fabric_->send(Bytes(head.payload_bytes, std::byte{0xff}));
    }
    wrong.push_back({.kind = FrameKind::get, .region = index, .offset = 1, .tag = 100});
    wrong.push_back({.kind = FrameKind::get, .region = index, .offset = 0, .tag = UINT64_MAX});
    for (std::size_t i = wrong.size() - 2; i < wrong.size(); ++i) to_fabric_->send(bytes_of(wrong[i]));
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        ASSERT_TRUE(farm_.until([this] { return from_fabric_->readable(); }));
        const auto answer = from_fabric_->receive<FrameHead>();
        EXPECT_EQ(answer.kind, FrameKind::done);
        EXPECT_EQ(answer.status, Status::refused);
    }
    EXPECT_EQ(guarded, Bytes(300));
    EXPECT_TRUE(farm_.listener(0).signals.empty());
}

TEST_F(TcpFabricTest, WhoAsksForMoreThanItMayBeOwedIsSentAway) {
    come_up();
    Bytes memory(1'000'000);
    const Region region = farm_.fabric(0).register_memory(memory);
    Bytes requests;
    for (int i = 0; i < 1000; ++i) {
        const Bytes one = bytes_of(FrameHead{.kind = FrameKind::get, .region = region.index, .tag = memory.size()});
        requests.insert(requests.end(), one.begin(), one.end());
    }
    to_fabric_->send(requests);
    EXPECT_TRUE(farm_.until([this] { return farm_.fabric(0).state(1) == PeerState::down; }));
    EXPECT_EQ(farm_.count(0, FabricCounter::malformed), 1U);
}

TEST_F(TcpFabricTest, MemoryThatIsDeregisteredIsNotTouchedAnyMore) {
    come_up();
    Bytes memory(50'000);
    const Region region = farm_.fabric(0).register_memory(memory);
    to_fabric_->send(bytes_of(FrameHead{.kind = FrameKind::put, .region = region.index, .payload_bytes = 50'000}));
    to_fabric_->send(Bytes(20'000, std::byte{7}));
    ASSERT_TRUE(farm_.until([&] { return memory[19'999] == std::byte{7}; }));
    farm_.fabric(0).deregister(region);
    const Bytes before = memory;
    ::send(to_fabric_->number(), before.data(), before.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(farm_.until([this] { return farm_.fabric(0).state(1) == PeerState::down; }));
    EXPECT_EQ(memory, before);
}

TEST_F(TcpFabricTest, SomethingBehindTheWelcomeClosesTheConnection) {
    come_up();
    from_fabric_->send(pattern(1, 1));
    EXPECT_TRUE(farm_.until([this] { return farm_.fabric(0).state(1) == PeerState::down; }));
}

TEST(TcpFabric, APortThatIsTakenIsAnError) {
    Farm<Tcp> farm(1);
    FabricConfig config = farm.config();
    config.port = ntohs(test::address_of(farm.fabric(0), 0, config).port);
    conformance::Member member;
    EXPECT_THROW(make_fabric(config, member.listener, farm.clock(), member.counters), SystemError);
    config.port = 0;
    config.host = "nowhere";
    EXPECT_THROW(make_fabric(config, member.listener, farm.clock(), member.counters), ConfigError);
    config.host = "0.0.0.0";
    EXPECT_THROW(make_fabric(config, member.listener, farm.clock(), member.counters), ConfigError);
}

TEST(TcpFabric, ARestartedProcessFindsItsPortAgain) {
    Farm<Tcp> farm(2);
    farm.connect_all();
    FabricConfig config = farm.config();
    const PeerAddress address = test::address_of(farm.fabric(0), 0, config);
    EXPECT_EQ(address.ipv4, htonl(INADDR_LOOPBACK));
    config.port = ntohs(address.port);
    farm.stop(0);  // first of the two, so that its ends of the connections linger
    conformance::Member member;
    EXPECT_NO_THROW(make_fabric(config, member.listener, farm.clock(), member.counters));
}

TEST(TcpFabric, PeersWithOtherLimitsAreRefusedByName) {
    Farm<Tcp> farm(2), other(2, [](FabricConfig&config) { config.max_message_bytes = 5; });
    try {
        farm.fabric(0).connect(1, other.fabric(1).address());
        FAIL() << "was taken";
    } catch (const ConfigError& error) {
        EXPECT_NE(error.rule().find("max_message_bytes 100000"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace anello::fabric::tcp_fabric_test

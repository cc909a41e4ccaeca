// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "conformance/fabric/fabric_farm.hpp"
#include "core/errors.hpp"
#include "fabric/udp/udp_datagram.hpp"
#include "unit/fabric/raw_peer.hpp"

namespace anello::fabric::udp_fabric_test {
namespace {

using conformance::Bytes;
using conformance::Farm;
using conformance::pattern;
using test::bytes_of;
using test::RawSocket;

struct Udp {
    static FabricConfig config() {
        FabricConfig config;
        config.transport = Transport::udp;
        config.max_message_bytes = 100'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_fabric(config, listener, clock, counters);
    }
};

TEST(UdpFabric, StrangersAreCountedAndHaveNoEffect) {
    Farm<Udp> farm(2);
    farm.connect_all();
    RawSocket stranger(SOCK_DGRAM);
    const PeerAddress address = test::address_of(farm.fabric(0), 0, farm.config());
    EXPECT_EQ(address.ipv4, htonl(INADDR_LOOPBACK));
    stranger.connect_to(address.port);
    std::uint64_t n_sent = 0;
    const auto send = [&](const Bytes& bytes) {
        stranger.send(bytes);
        ++n_sent;
    };
    send({});
    send(pattern(1, 20));
    send(pattern(2, 2'000));
    DatagramHead head;
    head.kind = DatagramKind::bye;
    head.peer = 1;
    send(bytes_of(head));
    head.peer = 7;
    send(bytes_of(head));
    head.kind = DatagramKind::data;
    send(bytes_of(head));
    UdpHello hello{};
    hello.head.kind = DatagramKind::hello;
    hello.head.peer = 1;
    hello.farm_id = farm.config().farm_id ^ 1;
    hello.to = address.incarnation;
    send(bytes_of(hello));
    hello.farm_id ^= 1;
    hello.to ^= 1;
    send(bytes_of(hello));
    hello.to ^= 1;
    hello.from = test::address_of(farm.fabric(1), 1, farm.config()).incarnation;
    hello.own_cookie = hello.window = 1;
    send(bytes_of(hello));  // all is right, but where it comes from
    EXPECT_TRUE(farm.until([&] { return farm.count(0, FabricCounter::strangers_refused) == n_sent; }));
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::up);
    EXPECT_TRUE(farm.listener(0).messages.empty());
}

TEST(UdpDatagram, WithoutAWholeHeadIsNone) {
    const Bytes whole = bytes_of(DatagramHead{});
    DatagramHead head;
    EXPECT_TRUE(parse_head(whole, head));
    EXPECT_FALSE(parse_head(std::span(whole).first(whole.size() - 1), head));
    EXPECT_FALSE(parse_head({}, head));
}

TEST(UdpFabric, WhatTheSystemDropsIsCounted) {
    Farm<Udp> farm(2, [](FabricConfig& config) {
        config.socket_buffer_bytes = 40'000;
        config.peer_timeout_ns = 1000 * config.heartbeat_ns;
    });
    farm.connect_all();
    const Bytes payload = pattern(1, 20'000);
    // The receiver sleeps; at each heartbeat the sender takes its messages for lost, and continues.
    std::uint64_t n_sent = 0;
    for (int i = 0; i < 120; ++i) {
        if (farm.fabric(0).send(1, {}, payload, n_sent) == Status::ok) ++n_sent;
        farm.clock().advance(farm.config().heartbeat_ns / 4);
        farm.fabric(0).progress();
    }
    farm.pass(4 * farm.config().heartbeat_ns);
    ASSERT_TRUE(farm.until([&] { return farm.listener(0).done.size() == n_sent; }));
    farm.pass(4 * farm.config().heartbeat_ns);
    const auto n_received = farm.count(1, FabricCounter::messages_received);
    EXPECT_GT(farm.count(1, FabricCounter::messages_lost), 0U) << "nothing was lost, so this proves nothing";
    EXPECT_EQ(n_received + farm.count(1, FabricCounter::messages_lost), n_sent);
    for (const auto& message : farm.listener(1).messages) EXPECT_TRUE(message.payload == payload);
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::up);
    ASSERT_EQ(farm.send(0, 1, pattern(1, 3), payload, n_sent), Status::ok);
    EXPECT_TRUE(farm.until([&] { return farm.listener(1).messages.size() == n_received + 1; })) << "and it continues";
}

TEST(UdpFabric, HasNoMemoryOfPeers) {
    Farm<Udp> farm(2);
    Bytes memory(10);
    EXPECT_THROW(farm.fabric(0).register_memory(memory), ConfigError);
    EXPECT_THROW(farm.fabric(0).key({}), ConfigError);
    EXPECT_THROW(farm.fabric(0).attach(1, {}), ConfigError);
    EXPECT_FALSE(farm.fabric(0).reliable());
}

TEST(UdpFabric, LargeDatagramsAndSmallOnesCarryTheSame) {
    for (const std::size_t datagram_bytes : {512, 1472, 8972, 65507}) {
        Farm<Udp> farm(2, [&](FabricConfig& config) { config.datagram_bytes = datagram_bytes; });
        farm.connect_all();
        const Bytes payload = pattern(datagram_bytes, 100'000), header = pattern(1, 33);
        for (std::uint64_t i = 0; i < 5; ++i) ASSERT_EQ(farm.send(0, 1, header, payload, i), Status::ok);
        ASSERT_TRUE(farm.until([&] { return farm.listener(1).messages.size() == 5; })) << datagram_bytes;
        for (const auto& message : farm.listener(1).messages)
            EXPECT_TRUE(message.payload == payload && message.header == header);
        const std::size_t piece_bytes = datagram_bytes - sizeof(DatagramHead) - header.size();
        EXPECT_EQ(farm.count(0, FabricCounter::datagrams_sent), 5 * n_pieces(payload.size(), piece_bytes));
        EXPECT_EQ(farm.count(1, FabricCounter::datagrams_received), farm.count(0, FabricCounter::datagrams_sent));
    }
}

}  // namespace
}  // namespace anello::fabric::udp_fabric_test

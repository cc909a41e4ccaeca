// SPDX-License-Identifier: Apache-2.0
// How connections over UCX end, and what they leave.
#ifdef ANELLO_UCX
#include <gtest/gtest.h>
#include <malloc.h>

#include "conformance/fabric/fabric_farm.hpp"
#include "fabric/ucx_wire.hpp"

namespace anello::fabric {
namespace {

using conformance::Bytes;
using conformance::Farm;
using conformance::pattern;

struct Ucx {
    static FabricConfig config() {
        FabricConfig config;
        config.transport = Transport::ucx;
        config.max_message_bytes = 200'000;
        config.ucx_tls = "tcp";
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_fabric(config, listener, clock, counters);
    }
};

void through_memory(FabricConfig& config) {
    config.ucx_tls = "shm,self";
}

/// Where nothing but silence would tell.
TEST(UcxLink, WhoLeavesSaysSo) {
    Farm<Ucx> farm(2, through_memory);
    farm.connect_all();
    const Nanoseconds begin_ns = farm.clock().monotonic_ns();
    farm.disconnect(0, 1);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
    EXPECT_LT(farm.clock().monotonic_ns() - begin_ns, farm.config().peer_timeout_ns);
}

TEST(UcxLink, WhatWasSentBeforeTheEndLeavesFirst) {
    Farm<Ucx> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(1, 10'000);
    constexpr std::size_t n_sent = 20;
    for (std::size_t i = 0; i < n_sent; ++i) ASSERT_EQ(farm.fabric(0).send(1, {}, payload, i), Status::ok);
    farm.disconnect(0, 1);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
    EXPECT_EQ(farm.listener(1).messages.size(), n_sent);
}

/// A large message is fetched with its sender's help, which does not come; the small one behind it is there.
TEST(UcxLink, WhatWaitedForItsTurnWhenTheEndCameIsCounted) {
    Farm<Ucx> farm(2);
    farm.connect_all();
    const Bytes large = pattern(1, farm.config().max_message_bytes), small = pattern(2, 100);
    ASSERT_EQ(farm.fabric(0).send(1, {}, large, 0), Status::ok);
    ASSERT_EQ(farm.fabric(0).send(1, {}, small, 1), Status::ok);
    for (int i = 0; i < 1000; ++i) farm.fabric(1).progress();
    ASSERT_EQ(farm.listener(1).places.size(), 2U);
    EXPECT_TRUE(farm.listener(1).messages.empty());
    farm.disconnect(1, 0);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(0).state(1) == PeerState::down; }));
    farm.step(50);
    EXPECT_GE(farm.count(1, FabricCounter::messages_discarded), 1U);
    EXPECT_EQ(farm.count(1, FabricCounter::messages_discarded) + farm.count(0, FabricCounter::messages_failed), 2U);
}

/// It gave up all that it sent, and its memory is in other use by now; that it is there again comes too late.
TEST(UcxLink, WhoPausedTooLongGivesUpItsPeersBeforeItListens) {
    Farm<Ucx> farm(2);
    farm.connect(0, 1);  // and not to itself
    farm.connect(1, 0);
    ASSERT_TRUE(farm.until(
        [&] { return farm.fabric(0).state(1) == PeerState::up && farm.fabric(1).state(0) == PeerState::up; }));
    const Nanoseconds pause_ns = farm.config().peer_timeout_ns + farm.config().heartbeat_ns / 2;
    for (const Nanoseconds end = farm.clock().monotonic_ns() + pause_ns; farm.clock().monotonic_ns() < end;) {
        farm.clock().advance(farm.config().heartbeat_ns / 4);
        for (int i = 0; i < 100; ++i) farm.fabric(1).progress();
    }
    ASSERT_EQ(farm.fabric(1).state(0), PeerState::up) << "the peer says that it is there";
    farm.step(100);
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 1U);
}

TEST(UcxLink, WhoWaitsToBeCalledCanBeDescribed) {
    Farm<Ucx> farm(2);
    farm.connect(1, 0);  // the lower number calls
    EXPECT_NE(farm.fabric(1).describe().find("to peer 0"), std::string::npos);
}

TEST(UcxLink, AMessageLargerThanAgreedEndsTheConnection) {
    Farm<Ucx> farm(2), liars(2, [](FabricConfig&config) { config.max_message_bytes *= 2; });
    const auto as_said = [](Fabric& fabric, Peer peer, const FabricConfig& own, FabricConfig said) {
        said.self = peer;
        return encode(decode_ucx_address(fabric.address(), peer, own), said);
    };
    farm.fabric(0).connect(1, as_said(liars.fabric(1), 1, liars.config(), farm.config()));
    liars.fabric(1).connect(0, as_said(farm.fabric(0), 0, farm.config(), liars.config()));
    const auto until = [&](PeerState state) {
        return farm.until([&] {
            liars.step();
            return farm.fabric(0).state(1) == state && liars.fabric(1).state(0) == state;
        });
    };
    ASSERT_TRUE(until(PeerState::up));
    const Bytes large(liars.config().max_message_bytes);
    ASSERT_EQ(liars.fabric(1).send(0, {}, large, 0), Status::ok);
    ASSERT_TRUE(until(PeerState::down));
    EXPECT_EQ(farm.count(0, FabricCounter::malformed), 1U);
    EXPECT_TRUE(farm.listener(0).places.empty());
}

/// The address is looked at when the connection before it has left, and nobody is there to catch what is wrong with it.
TEST(UcxLink, AWayThatLeadsNowhereIsAPeerThatIsDown) {
    Farm<Ucx> farm(2, through_memory), elsewhere(2);
    farm.connect_all();
    farm.listener(0).forget(1);
    farm.fabric(0).connect(1, elsewhere.fabric(1).address());
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::connecting);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(0).state(1) == PeerState::down; }));
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 1U);
    EXPECT_EQ(farm.count(0, FabricCounter::peers_down), 1U);
    farm.disconnect(0, 1);
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::absent);
}

/// What UCX lends for each operation, or a run of days would fill the memory.
TEST(UcxLink, OperationsLeaveNoMemoryBehind) {
    Farm<Ucx> farm(2);
    farm.connect_all();
    Bytes memory(20'000), place(memory.size());
    const Bytes payload = pattern(1, memory.size());
    const Region region = farm.fabric(1).register_memory(memory);
    const RemoteRegion remote = farm.fabric(0).attach(1, farm.fabric(1).key(region));
    auto &to = farm.listener(1), &from = farm.listener(0);
    Bytes landing(payload.size());
    to.choose_place = [&](Peer, std::span<const std::byte>, std::size_t) { return std::span(landing); };
    const auto one_of_each = [&] {
        ASSERT_EQ(farm.fabric(0).send(1, {}, payload, 0), Status::ok);
        ASSERT_EQ(farm.fabric(0).put(remote, 0, payload, 7, 1), Status::ok);
        ASSERT_EQ(farm.fabric(0).get(remote, 0, place, 2), Status::ok);
        ASSERT_TRUE(
            farm.until([&] { return from.done.size() == 3 && to.messages.size() == 1 && !to.signals.empty(); }));
        from.done.clear();
        to.messages.clear();
        to.signals.clear();
    };
    for (int i = 0; i < 100; ++i) one_of_each();
    const std::size_t before_bytes = mallinfo2().uordblks;
    for (int i = 0; i < 500; ++i) one_of_each();
    EXPECT_LT(mallinfo2().uordblks, before_bytes + 20'000);
    farm.disconnect(0, 1);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
    EXPECT_EQ(farm.fabric(0).get(remote, 0, place, 3), Status::peer_down) << "the key went with the connection";
}

}  // namespace
}  // namespace anello::fabric
#endif

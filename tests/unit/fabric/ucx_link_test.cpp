// SPDX-License-Identifier: Apache-2.0
// How connections over UCX end, and what they leave.
#ifdef ANELLO_UCX
#include <gtest/gtest.h>
#include <malloc.h>
#include <ucp/api/ucp.h>

#include <cstring>
#include <list>

#include "conformance/fabric/fabric_farm.hpp"
#include "fabric/ucx/ucx_wire.hpp"
#include "fabric/ucx/ucx_worker.hpp"
#include "unit/fabric/raw_peer.hpp"

namespace anello::fabric::ucx_link_test {
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

/// Peer 1 by hand: it uses UCX, and may send any description of itself.
class LyingPeer {
  public:
    explicit LyingPeer(FabricConfig farm) : config_((farm.self = 1, farm)), worker_(config_) {
        worker_.on_message(&LyingPeer::hear, this);
    }
    /// Sets the connection up as a real peer does.
    void come_up(Farm<Ucx>& farm) {
        Fabric& fabric = farm.fabric(0);
        const UcxAddress mine{own_incarnation, host_number(), worker_.listening(), worker_.address()};
        fabric.connect(1, encode(mine, config_));
        ASSERT_TRUE(farm.until([this] {
            ucp_worker_progress(worker_.handle());
            return heard_.link != 0;
        }));
        const UcxAddress theirs = decode_ucx_address(fabric.address(), 0, config_);
        ucp_ep_params_t params{};
        params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        params.address = reinterpret_cast<const ucp_address_t*>(theirs.worker.data());
        ASSERT_EQ(ucp_ep_create(worker_.handle(), &params, &endpoint_), UCS_OK);
        const UcxHello hello{.sender_incarnation = own_incarnation,
                             .receiver_incarnation = theirs.incarnation,
                             .heard_link = heard_.link,
                             .is_up = 1,
                             .n_arrivals = 256,
                             .ends = {}};
        say(UcxKind::hello, 0, std::as_bytes(std::span(&hello, 1)));
        ASSERT_TRUE(until(farm, [&] { return fabric.state(1) == PeerState::up; }));
    }
    void say(UcxKind kind, std::uint32_t sequence, std::span<const std::byte> body) {
        const UcxHeader header{.farm_id = config_.farm_id,
                               .link = 77,
                               .sequence = sequence,
                               .sender = 1,
                               .kind = kind,
                               .body_bytes = static_cast<std::uint8_t>(body.size())};
        Bytes& bytes = said_.emplace_back(test::bytes_of(header));
        bytes.insert(bytes.end(), body.begin(), body.end());
        ucp_request_param_t params{};
        params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        params.flags = UCP_AM_SEND_FLAG_EAGER;
        void* const request =
            ucp_am_send_nbx(endpoint_, ucx_message_id, bytes.data(), bytes.size(), nullptr, 0, &params);
        if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
    bool until(Farm<Ucx>& farm, const std::function<bool()>& holds) {
        return farm.until([&] {
            ucp_worker_progress(worker_.handle());
            return holds();
        });
    }

  private:
    static ucs_status_t hear(void* peer, const void* header, std::size_t, void*, std::size_t,
                             const ucp_am_recv_param_t*) {
        std::memcpy(&static_cast<LyingPeer*>(peer)->heard_, header, sizeof(UcxHeader));
        return UCS_OK;
    }
    static constexpr std::uint64_t own_incarnation = 4711;
    const FabricConfig config_;
    UcxWorker worker_;
    ucp_ep_h endpoint_ = nullptr;
    UcxHeader heard_{};
    std::list<Bytes> said_;
};

/// Otherwise only silence would show it.
TEST(UcxLink, WhoLeavesSaysSo) {
    Farm<Ucx> farm(2, through_memory);
    farm.connect_all();
    const Nanoseconds begin_ns = farm.clock().monotonic_ns();
    farm.disconnect(0, 1);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
    EXPECT_LT(farm.clock().monotonic_ns() - begin_ns, farm.config().peer_timeout_ns);
}

/// One of its peers takes nothing any more.
TEST(UcxLink, WhoEndsSaysSoToAllWhoListen) {
    Farm<Ucx> farm(3, through_memory);
    farm.connect_all();
    const Bytes payload = pattern(1, 60'000);
    for (std::uint64_t i = 0; farm.fabric(0).send(1, {}, payload, i) == Status::ok;) ++i;
    farm.stop(0);
    const Nanoseconds end_ns = farm.clock().monotonic_ns() + farm.config().peer_timeout_ns;
    while (farm.fabric(2).state(0) == PeerState::up && farm.clock().monotonic_ns() < end_ns) {
        farm.fabric(2).progress();
        farm.clock().advance(farm.config().peer_timeout_ns / 1000);
    }
    EXPECT_EQ(farm.fabric(2).state(0), PeerState::down);
}

TEST(UcxLink, WhatWasSentBeforeTheEndLeavesFirst) {
    Farm<Ucx> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(1, 60'000);
    std::size_t n_sent = 0;
    while (farm.fabric(0).send(1, {}, payload, n_sent) == Status::ok) ++n_sent;  // more than the system's buffers hold
    farm.disconnect(0, 1);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
    EXPECT_EQ(farm.listener(1).messages.size(), n_sent);
}

/// A large message is fetched with its sender's help, which does not come; the small one after it is there.
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

/// The peer gave up all its messages, and its memory has another use by now; its return comes too late.
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

TEST(UcxLink, ANumberThatNobodyExpectsEndsTheConnection) {
    Farm<Ucx> farm(2);
    farm.stop(1);
    LyingPeer liar(farm.config());
    liar.come_up(farm);
    liar.say(UcxKind::message, 1 << 20, {});
    ASSERT_TRUE(liar.until(farm, [&] { return farm.fabric(0).state(1) == PeerState::down; }));
    EXPECT_EQ(farm.count(0, FabricCounter::malformed), 1U);
    EXPECT_TRUE(farm.listener(0).messages.empty());
}

/// The address is read when the connection before it has left, where no caller could catch an error in it.
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

/// UCX lends memory for each operation: if it were not given back, a run of days would fill the memory.
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
}  // namespace anello::fabric::ucx_link_test
#endif

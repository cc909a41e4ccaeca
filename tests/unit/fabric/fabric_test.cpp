// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "conformance/fabric/fabric_farm.hpp"
#include "core/errors.hpp"
#include "fabric/fifo.hpp"
#include "fabric/region_table.hpp"
#include "fabrics/in_process_fabric.hpp"

namespace anello::fabric::fabric_test {
namespace {

using conformance::Bytes;
using conformance::Farm;
using conformance::pattern;

struct InProcess {
    static FabricConfig config() { return {}; }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_in_process_fabric(config, listener, clock, counters);
    }
};

TEST(Fifo, KeepsOrderAcrossItsEnd) {
    Fifo<int> fifo(3);
    EXPECT_TRUE(fifo.empty());
    int next_in = 0, next_out = 0;
    for (int round = 0; round < 10; ++round) {
        while (fifo.try_push(next_in)) ++next_in;
        EXPECT_TRUE(fifo.full());
        EXPECT_EQ(fifo[2], next_in - 1);
        for (int i = 0; i < 1 + round % 3; ++i) EXPECT_EQ(fifo.take(), next_out++);
    }
    EXPECT_EQ(static_cast<int>(fifo.size()), next_in - next_out);
}

TEST(RegionTable, FindsWhatLiesInsideAndNothingElse) {
    Bytes memory(100);
    RegionTable table;
    const Region region = table.add(memory);
    EXPECT_EQ(table.find(region.index, 0, 100), memory.data());
    EXPECT_EQ(table.find(region.index, 99, 1), memory.data() + 99);
    EXPECT_NE(table.find(region.index, 100, 0), nullptr);
    EXPECT_EQ(table.find(region.index, 99, 2), nullptr);
    EXPECT_EQ(table.find(region.index, 101, 0), nullptr);
    EXPECT_EQ(table.find(region.index, UINT64_MAX, 2), nullptr);
    EXPECT_EQ(table.find(region.index, 2, UINT64_MAX), nullptr);
    EXPECT_EQ(table.find(region.index + 1, 0, 0), nullptr);
    table.remove(region);
    EXPECT_EQ(table.find(region.index, 0, 1), nullptr);
    EXPECT_NE(table.add(memory).index, region.index) << "a key that outlived its region finds nothing";
}

TEST(FabricConfig, SaysWhatIsWrong) {
    const auto field_of = [](const auto& change) -> std::string {
        FabricConfig config;
        change(config);
        try {
            check(config);
        } catch (const ConfigError& error) {
            return error.field();
        }
        return "";
    };
    EXPECT_EQ(field_of([](FabricConfig&) {}), "");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.self = 1; }), "self");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.max_message_bytes = 0; }), "fabric.max_message_bytes");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.max_in_flight = 0; }), "max_in_flight");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.datagram_bytes = 100; }), "datagram_bytes");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.socket_buffer_bytes = SIZE_MAX; }), "socket_buffer_bytes");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.heartbeat_ns = 0; }), "heartbeat_ns");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.peer_timeout_ns = 1; }), "peer_timeout_ns");
    EXPECT_EQ(field_of([](FabricConfig& config) { config.connect_timeout_ns = 0; }), "connect_timeout_ns");
    EXPECT_THROW(parse_word<Transport>("pigeon", {}), ConfigError);
    for (const char* const name : {"ucx", "tcp", "udp"}) EXPECT_STREQ(name_of(parse_word<Transport>(name, {})), name);
}

TEST(InProcessFabric, APeerMayBeKilled) {
    const auto hub = InProcessHub::of_farm(Farm<InProcess>::farm_id);
    Farm<InProcess> farm(3);
    farm.connect_all();
    const Bytes payload = pattern(1, 1000);
    for (std::uint64_t i = 0; i < 5; ++i) {
        ASSERT_EQ(farm.fabric(0).send(1, {}, payload, i), Status::ok);
        ASSERT_EQ(farm.fabric(1).send(2, {}, payload, i), Status::ok);
    }
    hub->kill(1);
    EXPECT_EQ(farm.fabric(1).progress(), 0U);
    EXPECT_EQ(farm.fabric(0).send(1, {}, payload, 5), Status::peer_down) << "before progress() finds it";
    farm.step(3);
    EXPECT_EQ(farm.listener(0).n_done(Status::peer_down), 5U);
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 1U);
    EXPECT_EQ(farm.listener(2).n_changes(1, PeerState::down), 1U);
    EXPECT_TRUE(farm.listener(2).messages.empty()) << "the memory of a dead process is gone";
}

/// The queue is a ring: what was taken still stands in it.
TEST(InProcessFabric, WhatWasTakenIsNotGivenBack) {
    Farm<InProcess> farm(2, [](FabricConfig& config) { config.max_in_flight = 1; });
    farm.connect_all();
    const std::uint64_t n_sent = 5;  // round its end
    const Bytes payload = pattern(1, 100);
    for (std::uint64_t i = 0; i < n_sent; ++i) {
        ASSERT_EQ(farm.send(0, 1, {}, payload, i), Status::ok);
        ASSERT_TRUE(farm.until([&] { return farm.listener(0).done.size() == i + 1; }));
    }
    farm.disconnect(1, 0);
    farm.step(10);
    EXPECT_EQ(farm.listener(0).n_done(Status::ok), n_sent);
    EXPECT_EQ(farm.listener(0).done.size(), n_sent);
}

TEST(InProcessFabric, TheSameCallsDoTheSame) {
    const auto run = [] {
        Farm<InProcess> farm(3);
        farm.connect_all();
        std::mt19937 random(5);
        Bytes trace;
        for (int i = 0; i < 300; ++i) {
            const auto from = static_cast<Peer>(random() % 3), to = static_cast<Peer>(random() % 3);
            const Bytes header{static_cast<std::byte>(i)};
            static_cast<void>(farm.fabric(from).send(to, header, {}, 0));
            farm.fabric(static_cast<Peer>(random() % 3)).progress();
        }
        farm.step(10);
        for (Peer peer = 0; peer < 3; ++peer)
            for (const auto& message : farm.listener(peer).messages) trace.push_back(message.header[0]);
        return trace;
    };
    EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace anello::fabric::fabric_test

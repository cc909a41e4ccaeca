// SPDX-License-Identifier: Apache-2.0
// Nodes of the exchange in one process, with all their threads.
#include "pipeline/exchange_node.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/errors.hpp"
#include "fabrics/faulty_fabric.hpp"
#include "fabrics/in_process_fabric.hpp"
#include "moved_clock.hpp"
#include "patience.hpp"
#include "stream/stream.hpp"

namespace anello::pipeline::exchange_node_test {
namespace {

using anello::test::comes_true;

ExchangeNodeConfig node_config(exchange::Node node, std::uint16_t n_nodes, std::uint64_t farm_id) {
    ExchangeNodeConfig config;
    config.exchange.farm = exchange::parse_roles({"all"}, n_nodes);
    config.exchange.self = node;
    config.exchange.packing = config.generator.packing = 20;
    config.exchange.n_meps = 100;
    config.exchange.timeout_ns = anello::test::far_off_ns;
    config.exchange.n_credits = 4;
    config.exchange.verify_share = 1;
    config.n_buffers = 8;
    config.make_fabric = fabric::make_in_process_fabric;
    config.fabric.self = node;
    config.fabric.n_peers = n_nodes;
    config.fabric.farm_id = farm_id;
    config.threads = parse_layout({"generator+readout+builder+manager"}, {}, exchange_chain);
    return config;
}

std::uint64_t value_of(const ExchangeNode& node, const std::string& block, const std::string& name) {
    for (const auto& sample : node.counters())
        if (sample.block == block && sample.name == name) return sample.value;
    return 0;
}

TEST(ExchangeNode, TwoNodesBuildAll) {
    ExchangeNode first(node_config(0, 2, 71)), second(node_config(1, 2, 71));
    first.connect(1, second.address());
    second.connect(0, first.address());
    first.start();
    second.start();
    ASSERT_TRUE(comes_true([&] { return first.finished() && second.finished(); }));
    first.stop();
    second.stop();
    EXPECT_EQ(first.failure(), "");
    EXPECT_EQ(value_of(first, "manager", "meps_complete"), 100U);
    for (const ExchangeNode* node : {&first, &second}) {
        EXPECT_EQ(value_of(*node, "readout", "mfps_sent"), 100U);
        EXPECT_EQ(value_of(*node, "builder", "fragments_wrong_checksum"), 0U);
    }
    for (const ExchangeNode* node : {&first, &second})
        for (const exchange::Node other : {exchange::Node{0}, exchange::Node{1}}) {
            ASSERT_TRUE(node->account().sent_to.contains(other));
            ASSERT_TRUE(node->account().come_from.contains(other));
        }
    EXPECT_EQ(first.progress().at("meps_built") + second.progress().at("meps_built"), 100U);
}

/// An operator may take an hour between the two.
TEST(ExchangeNode, NodesThatHaveMetMayStartMuchLater) {
    anello::test::MovedClock clock;
    for (const fabric::Transport transport : {fabric::Transport::tcp, fabric::Transport::udp, fabric::Transport::ucx}) {
        ExchangeNodeConfig config = node_config(0, 2, 80);
        config.fabric.transport = transport;
        config.make_fabric = fabric::make_fabric;
        ExchangeNode first(config, clock);
        config = node_config(1, 2, 80);
        config.fabric.transport = transport;
        config.make_fabric = fabric::make_fabric;
        ExchangeNode second(config, clock);
        first.connect(1, second.address());
        second.connect(0, first.address());
        clock.move(3'600'000'000'000);
        first.start();
        second.start();
        EXPECT_TRUE(comes_true([&] { return first.finished() && second.finished(); }));
        first.stop();
        second.stop();
        EXPECT_EQ(first.failure() + second.failure(), "");
        EXPECT_EQ(value_of(first, "manager", "nodes_joined"), 2U);
        EXPECT_EQ(value_of(first, "manager", "meps_complete"), 100U);
    }
}

TEST(ExchangeNode, WhatATransportLosesAndDoublesIsAccountedFor) {
    const auto counts = std::make_shared<fabric::FaultCounts>();
    const auto config = [&](exchange::Node node) {
        ExchangeNodeConfig made = node_config(node, 2, 77);
        made.exchange.packing = made.generator.packing = 50;
        made.exchange.n_meps = 60;
        made.exchange.timeout_ns = 50'000'000;
        made.fabric.transport = fabric::Transport::udp;
        made.fabric.peer_timeout_ns = anello::test::far_off_ns;
        made.make_fabric = fabric::with_faults({.loss = 0.05, .duplicate = 0.05}, fabric::make_fabric, counts);
        return made;
    };
    ExchangeNode first(config(0)), second(config(1));
    first.connect(1, second.address());
    second.connect(0, first.address());
    first.start();
    second.start();
    ASSERT_TRUE(comes_true([&] { return first.finished() && second.finished(); }));
    first.stop();
    second.stop();
    EXPECT_EQ(first.failure() + second.failure(), "");
    EXPECT_GT(counts->lost, 0U);
    EXPECT_GT(counts->duplicated, 0U);
    EXPECT_EQ(value_of(first, "manager", "meps_assigned"), 60U);
    EXPECT_EQ(value_of(first, "manager", "meps_complete") + value_of(first, "manager", "meps_incomplete"), 60U);
    for (const ExchangeNode* node : {&first, &second})
        EXPECT_EQ(value_of(*node, "builder", "fragments_wrong_checksum"), 0U);
}

TEST(ExchangeNode, TheGeneratorMayHaveAThreadOfItsOwnAndNoUnitElse) {
    ExchangeNodeConfig config = node_config(0, 1, 79);
    config.threads = parse_layout({"generator+readout", "builder+manager"}, {}, exchange_chain);
    EXPECT_THROW(ExchangeNode{config}, ConfigError);
    config.threads = parse_layout({"generator", "readout+builder+manager"}, {}, exchange_chain);
    ExchangeNode node(config);
    node.start();
    ASSERT_TRUE(comes_true([&] { return node.finished(); }));
    node.stop();
    EXPECT_EQ(value_of(node, "manager", "meps_complete"), 100U);
}

TEST(ExchangeNode, AnAbortedNodeIsMissedAndTheOthersGoOn) {
    ExchangeNodeConfig config = node_config(0, 2, 72);
    config.exchange.n_meps = 0;
    ExchangeNode first(config);
    config = node_config(1, 2, 72);
    config.exchange.n_meps = 0;
    ExchangeNode second(config);
    first.connect(1, second.address());
    second.connect(0, first.address());
    first.start();
    second.start();
    ASSERT_TRUE(comes_true([&] { return first.progress()["meps_built"] > 10; }));
    second.abort();
    ASSERT_TRUE(comes_true([&] { return first.states()["node1"].starts_with("down"); }));
    const std::uint64_t built = first.progress()["meps_built"];
    ASSERT_TRUE(comes_true([&] { return first.progress()["meps_built"] > built + 10; }));
    EXPECT_EQ(first.notices(), Notices({{"node 1 is down: its connection broke", Severity::bad}}));
    first.stop();
    EXPECT_EQ(first.account().sent_to.at(1)[1], 0U) << "it did not last to the end";
    EXPECT_EQ(first.account().come_from.at(1)[3], 0U);
    EXPECT_NE(first.account().sent_to.at(1)[3], 0U) << "of which life";
    EXPECT_EQ(first.account().come_from.at(1)[4], first.account().sent_to.at(1)[3]);
    EXPECT_EQ(value_of(first, "manager", "meps_assigned"), value_of(first, "manager", "meps_complete") +
                                                               value_of(first, "manager", "meps_incomplete") +
                                                               value_of(first, "manager", "meps_lost_with_builder"));
}

/// Tries many times, as the node's thread and the one that aborts it may meet at any point.
TEST(ExchangeNode, AnAbortedNodeNeverAsksForTheEndOfTheRun) {
    const auto config = [](exchange::Node node) {
        ExchangeNodeConfig made = node_config(node, 2, 76);
        made.exchange.n_meps = 0;
        return made;
    };
    ExchangeNode first(config(0));
    auto second = std::make_unique<ExchangeNode>(config(1));
    first.connect(1, second->address());
    second->connect(0, first.address());
    first.start();
    second->start();
    for (int round = 0; round < 50; ++round) {
        ASSERT_TRUE(comes_true([&] { return second->progress()["meps_built"] > 2; })) << "round " << round;
        second->abort();
        ASSERT_TRUE(comes_true([&] { return first.states()["node1"].starts_with("down"); }));
        ASSERT_FALSE(first.finished()) << "round " << round;
        second = std::make_unique<ExchangeNode>(config(1));
        first.connect(1, second->address());
        second->connect(0, first.address());
        second->start();
    }
    first.stop();
}

/// Runs over UCX, whose description walks the links.
TEST(ExchangeNode, StatesAreAskedForWhileLinksComeAndGo) {
    const auto config = [](exchange::Node node) {
        ExchangeNodeConfig made = node_config(node, 2, 75);
        made.exchange.n_meps = 0;
        made.fabric.transport = fabric::Transport::ucx;
        made.make_fabric = fabric::make_fabric;
        made.fabric.ucx_tls = "tcp";
        made.fabric.heartbeat_ns = 50'000'000;
        made.fabric.peer_timeout_ns = anello::test::far_off_ns;
        return made;
    };
    std::unique_ptr<ExchangeNode> first, second;
    try {
        first = std::make_unique<ExchangeNode>(config(0));
        second = std::make_unique<ExchangeNode>(config(1));
    } catch (const ConfigError& error) {
        GTEST_SKIP() << error.what();
    }
    const auto is_described = [&] { return first->states()["fabric"].find("to peer 1: ") != std::string::npos; };
    first->connect(1, second->address());
    second->connect(0, first->address());
    first->start();
    second->start();
    for (int round = 0; round < 2; ++round) {
        ASSERT_TRUE(comes_true([&] { return is_described() && first->states()["node1"] == "up"; }));
        second->abort();
        ASSERT_TRUE(comes_true([&] { return !is_described(); }));
        second = std::make_unique<ExchangeNode>(config(1));
        first->connect(1, second->address());
        second->connect(0, first->address());
        second->start();
    }
    first->abort();
    EXPECT_NE(first->states()["fabric"].find("UCX"), std::string::npos) << "also of a node that has ended";
    second->abort();
}

TEST(ExchangeNode, ASubscriberThatStandsStillDoesNotKeepTheRunFromItsEnd) {
    const auto config = [](exchange::Node node) {
        ExchangeNodeConfig made = node_config(node, 2, 74);
        made.exchange.n_meps = 0;
        if (node == 1)
            made.publish = {.to = publish::PublishTo::stream,
                            .address = "@anello-exchange-" + std::to_string(getpid()),
                            .when_full = publish::WhenFull::wait};
        return made;
    };
    ExchangeNode first(config(0)), second(config(1));
    CounterPage page;
    stream::StreamConfig standing;
    standing.direction = stream::Direction::receive;
    const auto subscriber = stream::connect("@anello-exchange-" + std::to_string(getpid()), standing,
                                            page.add_block<stream::StreamCounter>("subscriber"));
    // Before it is let in, records wait for somebody to come, not for room.
    ASSERT_TRUE(comes_true([&] { return value_of(second, "publish.admission", "admitted") == 1; }));
    first.connect(1, second.address());
    second.connect(0, first.address());
    first.start();
    second.start();
    ASSERT_TRUE(comes_true([&] { return value_of(second, "publish", "records_waited") > 0; }));
    std::thread other([&] { second.stop(); });
    first.stop();
    other.join();
    EXPECT_TRUE(second.finished());
    EXPECT_EQ(first.failure() + second.failure(), "");
    const std::uint64_t n_dropped = value_of(second, "publish", "records_dropped_at_end");
    EXPECT_GT(n_dropped, 0U);
    EXPECT_EQ(value_of(second, "publish", "records_in"), value_of(second, "publish", "records_sent") + n_dropped);
    EXPECT_EQ(value_of(second, "publish", "records_in"), second.progress().at("meps_built"));
}

TEST(ExchangeNode, MemoryThatAMessageDoesNotFitIntoIsRefused) {
    ExchangeNodeConfig config = node_config(0, 1, 73);
    config.fabric.max_message_bytes = 1000;
    EXPECT_THROW(ExchangeNode{config}, ConfigError);
}

}  // namespace
}  // namespace anello::pipeline::exchange_node_test

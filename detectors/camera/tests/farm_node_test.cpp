// SPDX-License-Identifier: Apache-2.0
// The camera's chain with the exchange between building and sending: a farm of one node builds and sends all.
#include <gtest/gtest.h>

#include "camera/farm/ends.hpp"
#include "camera/tests/chain.hpp"
#include "core/errors.hpp"
#include "pipeline/exchange_node.hpp"

namespace anello::camera::farm_node_test {
namespace {

using namespace whole_chain;

constexpr std::uint32_t packing = 10;

/// One node that is a farm by itself.
pipeline::ExchangeNodeConfig farm_config(const CameraNodeConfig& camera) {
    static std::uint64_t farm_id = 600;
    pipeline::ExchangeNodeConfig config;
    config.exchange.farm = exchange::parse_roles({"all"}, 1);
    config.exchange.packing = packing;
    config.exchange.n_meps = n_events / packing;
    config.exchange.n_credits = 4;
    config.exchange.waits_for_data = true;
    config.max_mfp_bytes = config.fabric.max_message_bytes = camera_max_mfp_bytes(camera.build.shape, 1, packing);
    config.fabric.transport = fabric::Transport::tcp;
    config.fabric.n_peers = 1;
    config.fabric.farm_id = ++farm_id;
    config.threads = pipeline::parse_layout({"generator+readout+builder+manager"}, {}, pipeline::exchange_chain);
    config.make_input = make_camera_input(camera);
    config.make_output = make_camera_output(camera);
    return config;
}

CameraNodeConfig camera_config(std::uint32_t n_ports) {
    return patient(node_config({.name = "", .threads = {"receive+build+filter", "send"}, .n_ports = n_ports}));
}

TEST(CameraFarm, BuildsAndSendsAll) {
    for (const std::uint32_t n_ports : {1U, 4U, n_boards}) {
        pipeline::ExchangeNode node(farm_config(camera_config(n_ports)));
        const ChainResult run = run_through(node, {});
        ASSERT_TRUE(run.finished) << n_ports << " ports";
        EXPECT_EQ(run.node.at("send").at("events_in"), n_events);
        EXPECT_GT(run.node.at("send").at("events_kept"), 0U);
        EXPECT_EQ(run.node.at("builder").at("meps_complete"), n_events / packing);
        EXPECT_TRUE(run.notices.empty()) << run.notices.front();
    }
}

TEST(CameraFarm, RefusesMorePortsThanBoardsOrNone) {
    EXPECT_THROW(pipeline::ExchangeNode{farm_config(camera_config(0))}, ConfigError);
    EXPECT_THROW(pipeline::ExchangeNode{farm_config(camera_config(n_boards + 1))}, ConfigError);
}

}  // namespace
}  // namespace anello::camera::farm_node_test

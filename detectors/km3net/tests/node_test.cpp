// SPDX-License-Identifier: Apache-2.0
// Boards send over loopback to all stages in their threads; with this test the thread sanitizer looks for data races.
#include "km3net/chain/node.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "km3net/source/source.hpp"
#include "source/sinks/udp_sink.hpp"

namespace anello::km3net::node_test {
namespace {

constexpr std::uint64_t n_slices = 3;

std::uint64_t value_of(const Node& node, const std::string& block, const std::string& name) {
    for (const auto& sample : node.counters())
        if (sample.block == block && sample.name == name) return sample.value;
    ADD_FAILURE() << "no counter " << block << '.' << name;
    return 0;
}

class NodeTest : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(NodeTest, WhatBoardsSendIsInSlicesAndMessages) {
    const std::string path = ::testing::TempDir() + "node-" + std::to_string(getpid());
    NodeConfig config;
    config.n_slices = n_slices;
    config.line.n_doms = 4;
    config.backend.ports = {0};
    config.build.run = 1;
    config.build.store.max_hits = 5000;
    config.decisions.store.path = path;
    config.threads = pipeline::parse_layout(GetParam(), {}, chain);
    Node node(config);
    SourceConfig boards;
    boards.line = config.line;
    boards.ports = node.ports();
    boards.n_slices = n_slices;
    boards.simulation.singles_hz = 500;
    boards.simulation.muon_hz = 50;
    CounterPage page;
    source::UdpSink sink(boards.endpoints());
    Source source(boards, sink, SystemClock::instance(), page);
    node.start();
    source.start();
    while (source.running() || !node.finished()) std::this_thread::yield();
    source.stop();
    node.stop();
    EXPECT_EQ(node.notices(), pipeline::Notices{});
    EXPECT_EQ(value_of(node, "build", "slices_complete"), n_slices);
    EXPECT_EQ(value_of(node, "trigger", "frames_used"), n_slices * config.line.n_doms);
    EXPECT_EQ(value_of(node, "store", "written"), 2 * n_slices + value_of(node, "trigger", "events"));
    std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Layouts, NodeTest,
                         ::testing::Values(std::vector<std::string>{"receive", "trigger", "store"},
                                           std::vector<std::string>{"receive+trigger", "store"},
                                           std::vector<std::string>{"receive+trigger+store"}));

}  // namespace
}  // namespace anello::km3net::node_test

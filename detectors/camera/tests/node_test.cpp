// SPDX-License-Identifier: Apache-2.0
// The camera chain over loopback sockets: simulated boards, node, file. What was sent is accounted for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "camera/tests/chain.hpp"
#include "core/errors.hpp"
#include "moved_clock.hpp"

namespace anello::camera::node_test {
namespace {

using namespace whole_chain;

void expect_balance(const ChainResult& run) {
    const auto of_source = [&](const char* name) { return sum(run.source, "source.board", name); };
    const auto of_build = [&](const char* name) { return sum(run.node, "build.group", name); };
    EXPECT_EQ(sum(run.node, "receive.port", "datagrams") + sum(run.node, "receive.port", "kernel_dropped"),
              of_source("datagrams_sent"));
    EXPECT_EQ(of_build("fragments_in"), of_build("fragments_placed") + of_build("fragments_duplicate") +
                                            of_build("fragments_late") + of_build("fragments_ahead") +
                                            of_build("fragments_other_run") + of_build("fragments_wrong_board") +
                                            of_build("fragments_wrong_size") + of_build("fragments_dropped"));
    EXPECT_EQ(of_build("fragments_placed") + of_build("fragments_missing"),
              sum(run.node, "build.board", "placed") + sum(run.node, "build.board", "missing"));
    EXPECT_EQ(run.node.at("join").at("events_out") * n_boards,
              of_build("fragments_placed") + of_build("fragments_missing"));
    auto send = run.node.at("send");
    EXPECT_EQ(send["events_in"], run.node.at("join").at("events_out"));
    EXPECT_EQ(send["events_in"], send["events_kept"] + send["events_filtered"]);
}

class CameraChain : public testing::TestWithParam<Layout> {};

TEST_P(CameraChain, BuildsEveryEventWholeWhenNothingIsLost) {
    anello::test::MovedClock clock;
    CameraNode node(patient(node_config(GetParam())), clock);
    const ChainResult run = run_through(node, {}, 1500, [&] { hurry_after(n_events * n_boards, node, clock); });
    ASSERT_TRUE(run.finished);
    EXPECT_EQ(run.source.at("source").at("events"), n_events);
    EXPECT_EQ(run.node.at("join").at("events_complete"), n_events);
    EXPECT_EQ(run.node.at("join").at("fragments"), n_events * n_boards);
    EXPECT_EQ(run.node.at("send").at("events_in"), n_events);
    EXPECT_GT(run.node.at("send").at("events_kept"), 0U);
    EXPECT_EQ(sum(run.node, "build.board", "lost"), 0U);
    EXPECT_TRUE(run.notices.empty()) << run.notices.front();
    expect_balance(run);
}

TEST_P(CameraChain, AccountsForEveryFault) {
    const source::FaultsConfig faults{
        .loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.05, .truncate = 0.05};
    const ChainResult run = run_chain(node_config(GetParam()), faults);
    ASSERT_TRUE(run.finished);
    expect_balance(run);
    EXPECT_GT(run.node.at("join").at("events_incomplete"), 0U);
    const auto of_source = [&](const char* name) { return sum(run.source, "source.board", name); };
    EXPECT_EQ(sum(run.node, "build.group", "fragments_duplicate"), of_source("packets_duplicated_injected"));
    EXPECT_EQ(sum(run.node, "build.board", "lost"), of_source("packets_lost_injected") +
                                                        of_source("packets_corrupted_injected") +
                                                        of_source("packets_truncated_injected"));
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, CameraChain,
    testing::Values(
        Layout{.name = "one_thread", .threads = {"receive+build+filter+send"}},
        Layout{.name = "two_stage", .threads = {"receive+build+filter", "send"}, .n_groups = 1, .n_ports = 1},
        Layout{.name = "three_stage", .threads = {"receive", "build", "filter+send"}, .n_groups = 1, .n_ports = 4},
        Layout{.name = "two_groups", .threads = {"receive+build+filter", "send"}, .n_groups = 2},
        Layout{.name = "in_place", .threads = {"receive+build+filter", "send"}, .in_place = true}),
    [](const auto& test) { return test.param.name; });

TEST(CameraNode, ADeadBoardIsNamedAndHoldsNobodyUp) {
    const CameraNodeConfig config = patient(node_config({.name = "", .threads = {"receive+build+filter", "send"}}));
    anello::test::MovedClock clock;
    CameraNode node(config, clock);
    const ChainResult run = run_through(node, {.dead_board = 7, .dead_from_event = 0}, 300,
                                        [&] { hurry_after(n_events * (n_boards - 1), node, clock); });
    ASSERT_TRUE(run.finished);
    EXPECT_EQ(run.node.at("join").at("events_out"), n_events);
    EXPECT_EQ(run.node.at("build.board7").at("missing"), n_events);
    EXPECT_EQ(sum(run.node, "build.board", "missing"), n_events) << "the others are whole";
    ASSERT_FALSE(run.notices.empty());
    EXPECT_NE(run.notices.front().find("board 7 is silent"), std::string::npos) << run.notices.front();
}

class CameraFileOfANode : public testing::TestWithParam<std::int32_t> {};  // threads that integrate, and that compress

TEST_P(CameraFileOfANode, HasWhatItKeeps) {
    const std::string name = "anello-camera-node-" + std::to_string(getpid()) + ".h5";
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
    CameraNodeConfig config = node_config({.name = "", .threads = {"receive+build+filter", "send"}});
    config.send.file = path.string();
    config.send.compression.n_threads = config.send.filter.n_threads = GetParam();
    const ChainResult run = run_chain(config, {});
    ASSERT_TRUE(run.finished);
    const auto n_kept = run.node.at("send").at("events_kept");
    EXPECT_EQ(run.node.at("camera_store").at("events_stored"), n_kept);
    EXPECT_EQ(run.node.at("filter").at("events_in"), run.node.at("send").at("events_in"));
    EXPECT_EQ(run.node.at("compress").at("events_encoded"), n_kept);
    EXPECT_GT(std::filesystem::file_size(path), run.node.at("compress").at("bytes_out"));
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Threads, CameraFileOfANode, testing::Values(0, 1, 3));

TEST(CameraNode, RefusesPortsThatServeTwoGroupsOrNone) {
    CameraNodeConfig config =
        node_config({.name = "", .threads = {"receive+build+filter", "send"}, .n_groups = 2, .n_ports = 3});
    EXPECT_THROW(CameraNode{config}, ConfigError);
    config.backend.ports.clear();
    EXPECT_THROW(CameraNode{config}, ConfigError);
    config.backend.ports.assign(n_boards + 1, 0);
    EXPECT_THROW(CameraNode{config}, ConfigError);
    config.backend.ports.assign(n_boards, 0);
    for (const std::uint32_t n_groups : {0U, max_camera_groups + 1}) {
        config.n_groups = n_groups;
        EXPECT_THROW(CameraNode{config}, ConfigError);
    }
}

}  // namespace
}  // namespace anello::camera::node_test

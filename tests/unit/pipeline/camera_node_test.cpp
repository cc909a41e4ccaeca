// SPDX-License-Identifier: Apache-2.0
// The camera chain over loopback sockets: simulated boards, node, file. What was sent is accounted for.
#include "pipeline/camera_node.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "core/errors.hpp"
#include "source/camera_source.hpp"
#include "source/udp_sink.hpp"

namespace anello::pipeline {
namespace {

using Values = std::map<std::string, std::map<std::string, std::uint64_t>>;
constexpr std::uint32_t n_boards = 19, n_events = 150;
constexpr source::WaveformShape waveforms{.n_boards = n_boards, .n_pixels = 7, .n_gains = 2, .n_samples = 40};

/// How a test lays the chain out.
struct Layout {
    std::string name;
    std::vector<std::string> threads;
    std::uint32_t n_groups = 1, n_ports = n_boards;
    bool in_place = false;
};

void PrintTo(const Layout& layout, std::ostream* out) {
    *out << layout.name;
}

CameraNodeConfig node_config(const Layout& layout) {
    CameraNodeConfig config;
    config.n_runs = 1;
    config.backend.ports.assign(layout.n_ports, 0);
    config.backend.gro = !layout.in_place;
    config.build.shape = {.n_boards = n_boards, .max_payload_bytes = waveforms.payload_bytes()};
    config.build.window_events = 32;
    config.build.n_events = 64;
    config.build.timeout_ns = 100'000'000;
    config.build.in_place = layout.in_place;
    config.n_groups = layout.n_groups;
    config.send.integrator.n_boards = n_boards;
    config.send.integrator.n_samples = waveforms.n_samples;
    config.send.filter.fraction = 0.25;
    config.threads = parse_layout(layout.threads, {}, camera_chain);
    return config;
}

struct ChainResult {
    Values source, node;
    bool finished = false;
    std::vector<std::string> notices{};
};

Values values_of(const std::vector<CounterPage::Sample>& samples) {
    Values values;
    for (const auto& sample : samples) values[sample.block][sample.name] = sample.value;
    return values;
}

ChainResult run_chain(const CameraNodeConfig& settings, const source::FaultsConfig& faults, double rate_hz = 1500) {
    CameraNode node(settings);
    source::CameraSourceConfig config;
    config.shape = waveforms;
    config.ports = node.ports();
    config.rate_hz = rate_hz;
    config.n_events = n_events;
    config.pool_events = 4;
    config.faults = faults;
    source::CameraPool pool(config);
    source::UdpSink sink(config.endpoints());
    CounterPage page;
    source::CameraSource boards(config, pool, sink, SystemClock::instance(), page);
    node.start();
    boards.start();
    boards.wait();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!node.finished() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    ChainResult result{.source = {}, .node = {}, .finished = node.finished()};
    node.stop();
    result.source = values_of(page.read());
    result.node = values_of(node.counters());
    result.notices = node.notices();
    return result;
}

std::uint64_t sum(const Values& values, const std::string& prefix, const std::string& name) {
    std::uint64_t total = 0;
    for (const auto& [block, counters] : values)
        if (block.starts_with(prefix))
            if (const auto found = counters.find(name); found != counters.end()) total += found->second;
    return total;
}

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
    const ChainResult run = run_chain(node_config(GetParam()), {});
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
    testing::Values(Layout{.name = "one_thread", .threads = {"receive+build+send"}},
                    Layout{.name = "two_stage", .threads = {"receive+build", "send"}, .n_groups = 1, .n_ports = 1},
                    Layout{.name = "three_stage", .threads = {"receive", "build", "send"}, .n_groups = 1, .n_ports = 4},
                    Layout{.name = "two_groups", .threads = {"receive+build", "send"}, .n_groups = 2},
                    Layout{.name = "in_place", .threads = {"receive+build", "send"}, .in_place = true}),
    [](const auto& test) { return test.param.name; });

TEST(CameraNode, ADeadBoardIsNamedAndHoldsNobodyUp) {
    CameraNodeConfig config = node_config({.name = "", .threads = {"receive+build", "send"}});
    config.build.timeout_ns = 1'000'000'000;  // longer than this machine may keep the front ends from running
    config.build.window_events = 512;         // what comes meanwhile
    config.build.n_events = 1024;
    const ChainResult run = run_chain(config, {.dead_board = 7, .dead_from_event = 0}, 300);
    ASSERT_TRUE(run.finished);
    EXPECT_EQ(run.node.at("join").at("events_out"), n_events);
    EXPECT_EQ(run.node.at("build.board7").at("missing"), n_events);
    EXPECT_EQ(sum(run.node, "build.board", "missing"), n_events) << "the others are whole";
    ASSERT_FALSE(run.notices.empty());
    EXPECT_NE(run.notices.front().find("board 7 is silent"), std::string::npos) << run.notices.front();
}

TEST(CameraNode, WritesWhatItKeeps) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "anello-camera-node.h5";
    CameraNodeConfig config = node_config({.name = "", .threads = {"receive+build", "send"}});
    config.send.file = path.string();
    const ChainResult run = run_chain(config, {});
    ASSERT_TRUE(run.finished);
    const auto n_kept = run.node.at("send").at("events_kept");
    EXPECT_EQ(run.node.at("camera_store").at("events_stored"), n_kept);
    EXPECT_EQ(run.node.at("compress").at("events_encoded"), n_kept);
    EXPECT_GT(std::filesystem::file_size(path), run.node.at("compress").at("bytes_out"));
    std::filesystem::remove(path);
}

TEST(CameraNode, RefusesPortsThatServeTwoGroupsOrNone) {
    CameraNodeConfig config =
        node_config({.name = "", .threads = {"receive+build", "send"}, .n_groups = 2, .n_ports = 3});
    EXPECT_THROW(CameraNode{config}, ConfigError);
    config.backend.ports.clear();
    EXPECT_THROW(CameraNode{config}, ConfigError);
    config.backend.ports.assign(n_boards + 1, 0);
    EXPECT_THROW(CameraNode{config}, ConfigError);
    config.backend.ports.assign(n_boards, 0);
    config.n_groups = build::max_camera_groups + 1;
    EXPECT_THROW(CameraNode{config}, ConfigError);
}

}  // namespace
}  // namespace anello::pipeline

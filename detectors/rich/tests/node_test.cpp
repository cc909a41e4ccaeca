// SPDX-License-Identifier: Apache-2.0
// The whole chain over loopback sockets: simulated front ends, node, listener, file. It accounts for all that was sent.
#include "rich/chain/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "core/errors.hpp"
#include "rich/tests/chain.hpp"

namespace anello::rich::node_test {
namespace {

std::uint64_t malformed(const Values& node, const std::string& board) {
    std::uint64_t n = 0;
    for (const auto& [verdict, count] : node.at("receive." + board + ".verdict")) n += verdict == "ok" ? 0 : count;
    return n;
}

void expect_balance(const ChainResult& run) {
    std::uint64_t n_fragments = 0;
    for (std::uint32_t i = 0; i < n_boards; ++i) {
        const std::string board = "board" + std::to_string(i);
        auto sent = run.source.at("source." + board);
        auto got = run.node.at("receive." + board);
        SCOPED_TRACE(board);
        EXPECT_EQ(got["datagrams"] + got["kernel_dropped"], sent["datagrams_sent"]);
        EXPECT_EQ(got["datagrams"], got["packets"] + got["markers"] + got["duplicate_packets"] +
                                        got["dropped_packets"] + got["stray_packets"] + malformed(run.node, board));
        EXPECT_EQ(malformed(run.node, board), sent["packets_corrupted_injected"] + sent["packets_truncated_injected"]);
        EXPECT_EQ(got["duplicate_packets"], sent["packets_duplicated_injected"]);
        EXPECT_EQ(got["announced_packets"], sent["packets"]);
        EXPECT_EQ(got["lost_sequences"], sent["packets_lost_injected"] + sent["packets_corrupted_injected"] +
                                             sent["packets_truncated_injected"]);
        n_fragments += got["fragments"];
    }
    auto build = run.node.at("build");
    EXPECT_EQ(build["fragments_in"], n_fragments);
    EXPECT_EQ(build["fragments_in"], build["fragments_merged"] + build["fragments_late"] +
                                         build["fragments_duplicate"] + build["fragments_ahead"]);
    EXPECT_EQ(build["events_out"], run.node.at("trigger").at("events"));
    EXPECT_EQ(run.node.at("emit").at("primitives"), run.node.at("trigger").at("primitives"));
    EXPECT_EQ(run.node.at("listener").at("frames"), run.node.at("emit").at("frames_sent"));
}

/// A test's layout of the chain.
struct ChainLayout {
    std::string name;
    std::vector<std::string> threads;
    std::uint32_t n_lanes = 1;  ///< lanes of the stage receive

    NodeConfig config() const {
        NodeConfig config = node_config(threads);
        config.intake.n_lanes = n_lanes;
        return config;
    }
};

void PrintTo(const ChainLayout& layout, std::ostream* out) {
    *out << layout.name;
}

class Chain : public testing::TestWithParam<ChainLayout> {};

TEST_P(Chain, DecidesEveryEventWhenNothingIsLost) {
    const ChainResult run = run_chain(GetParam().config(), {});
    ASSERT_TRUE(run.finished);
    expect_balance(run);
    EXPECT_GT(run.source.at("source").at("events"), 1000U);
    EXPECT_EQ(run.node.at("trigger").at("events"), run.source.at("source").at("events"));
    EXPECT_EQ(run.node.at("build").at("events_complete"), run.source.at("source").at("events"));
    EXPECT_GT(run.node.at("trigger").at("rings"), 0U);
}

TEST_P(Chain, AccountsForEveryFault) {
    const source::FaultsConfig faults{
        .loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.05, .truncate = 0.05};
    const ChainResult run = run_chain(GetParam().config(), faults);
    ASSERT_TRUE(run.finished);
    expect_balance(run);
    EXPECT_GT(run.node.at("build").at("events_incomplete"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Chain,
                         testing::Values(ChainLayout{"OneThread", {"receive+build+trigger+emit+store"}},
                                         ChainLayout{"FiveThreads", {"receive", "build", "trigger", "emit", "store"}},
                                         ChainLayout{"TwoLanes", {"receive+build+trigger+emit", "store"}, 2},
                                         ChainLayout{"ThreeLanesApart", {"receive", "build+trigger", "emit+store"}, 3}),
                         [](const auto& layout) { return layout.param.name; });

TEST(Node, RefusesLanesWithoutPortsAndBackendsThatHaveOne) {
    NodeConfig config = node_config({"receive+build+trigger+emit+store"});
    for (const std::uint32_t n_lanes : {0U, n_boards + 1}) {
        config.intake.n_lanes = n_lanes;
        EXPECT_THROW(Node{config}, ConfigError);
    }
    config.intake.n_lanes = 2;
    config.intake.backend.kind = receive::BackendKind::af_xdp;
    EXPECT_THROW(Node{config}, ConfigError);
}

/// The stage that gives the batches back reports when the chain has drained.
TEST(RichDecisions, HaveDrainedWhenTheLastBatchIsBack) {
    CounterPage page;
    RichDecisions decisions(node_config({"receive+build+trigger+emit+store"}), SystemClock::instance(), page);
    bool is_drained = false;
    const std::vector<pipeline::Stage> stages = decisions.stages([&] { return is_drained; });
    const auto store = std::ranges::find(stages, "store", &pipeline::Stage::name);
    ASSERT_NE(store, stages.end());
    ASSERT_TRUE(store->is_drained);
    EXPECT_FALSE(store->is_drained());
    is_drained = true;
    EXPECT_TRUE(store->is_drained());
}

TEST(Node, GoesOnWithoutADeadBoardAndNamesIt) {
    NodeConfig config = node_config({"receive+build", "trigger+emit+store"});
    config.build.timeout_ns = 5'000'000;
    source::FaultsConfig faults;
    faults.dead_board = 2;
    faults.dead_from_burst = 1;
    const ChainResult run = run_chain(config, faults);
    ASSERT_TRUE(run.finished);
    EXPECT_GT(run.node.at("build.board2").at("missing"), 0U);
    EXPECT_GE(run.node.at("build.board2").at("silences"), 1U);
    EXPECT_EQ(run.node.at("trigger").at("events"), run.source.at("source").at("events"));
}

TEST(Node, DecidesByItselfWhereTheDeviceFails) {
    NodeConfig config = node_config({"receive+build", "trigger", "emit+store"});
    config.trigger.make_device = [](const Placement&) { return std::make_unique<BrokenDevice>(); };
    const ChainResult run = run_chain(config, {});
    ASSERT_TRUE(run.finished);
    expect_balance(run);
    const auto& trigger = run.node.at("trigger");
    EXPECT_EQ(trigger.at("events"), run.source.at("source").at("events"));
    EXPECT_GT(trigger.at("rings"), trigger.at("events") / 2);
    EXPECT_GT(trigger.at("cuda_failures"), 0U);
    EXPECT_EQ(trigger.at("cuda_failures"), trigger.at("batches"));
    EXPECT_EQ(trigger.at("cuda_batches"), 0U);
    EXPECT_EQ(std::ranges::count_if(run.notices, [](const auto& line) { return line.starts_with("the CUDA device"); }),
              1);
}

TEST(Node, CarriesNa62sOwnPackets) {
    NodeConfig config = node_config({"receive+build", "trigger+emit+store"});
    for (std::uint16_t board = 0; board < n_boards; ++board) config.intake.unpackers[board] = mep_board(0x1C, board);
    const ChainResult run = run_chain(config, {}, Format::mep);
    // A burst of MEPs ends with a special event, the end-of-burst trigger.
    const std::uint64_t n_events = run.source.at("source").at("events") + run.source.at("source").at("bursts");
    EXPECT_EQ(run.node.at("trigger").at("events"), n_events);
    EXPECT_EQ(run.node.at("build").at("events_complete"), n_events);
}

TEST(Node, StoresDecisions) {
    const auto path = std::filesystem::temp_directory_path() / ("anello-node-test-" + std::to_string(getpid()) + ".h5");
    NodeConfig config = node_config({"receive+build", "trigger+emit", "store"});
    config.store = {.decisions_file = path.string(), .prescale_log2 = 2};
    const ChainResult run = run_chain(config, {});
    auto store = run.node.at("store");
    EXPECT_EQ(store["events_seen"], run.node.at("trigger").at("events"));
    EXPECT_EQ(store["events_seen"], store["events_stored"] + store["events_not_selected"]);
    EXPECT_GT(store["events_stored"], 0U);
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
}

TEST(Node, LetsAPluginDecide) {
    NodeConfig config = node_config({"receive+build", "trigger+emit+store"});
    config.trigger.make_plugin = load_plugin({ANELLO_TEST_PLUGINS "/libplugin_single_ring_cut.so", ""});
    config.trigger.plugin_name = "cut";
    const ChainResult run = run_chain(config, {});
    ASSERT_TRUE(run.finished);
    expect_balance(run);
    auto trigger = run.node.at("trigger");
    EXPECT_GT(trigger["events_with_1_ring"], 0U);
    EXPECT_EQ(trigger["events"], trigger["events_with_0_rings"] + trigger["events_with_1_ring"]);
    EXPECT_EQ(trigger["primitives"], trigger["events_with_1_ring"]);
    EXPECT_EQ(trigger["plugin_failed_batches"], 0U);
}

TEST(Node, SurvivesAFaultyPluginAndTellsOfIt) {
    NodeConfig config = node_config({"receive+build", "trigger+emit+store"});
    config.trigger.make_plugin = load_plugin({ANELLO_TEST_PLUGINS "/libplugin_faulty.so", "throw"});
    const ChainResult run = run_chain(config, {});
    ASSERT_TRUE(run.finished);
    expect_balance(run);
    auto trigger = run.node.at("trigger");
    EXPECT_EQ(trigger["events"], trigger["events_with_0_rings"]);
    EXPECT_EQ(trigger["plugin_failed_batches"], trigger["batches"]);
    EXPECT_THAT(run.notices, testing::Contains(testing::HasSubstr("the plugin failed for")));
}

TEST(Node, PublishesItsDecisionsAndTellsWhere) {
    NodeConfig config = node_config({"receive+build", "trigger+emit+store"});
    config.publish = {.to = publish::PublishTo::stream, .address = "@anello-node-" + std::to_string(getpid())};
    const ChainResult run = run_chain(config, {});
    const auto& publish = run.node.at("publish");
    EXPECT_EQ(publish.at("records_in"), run.node.at("trigger").at("batches"));
    EXPECT_EQ(publish.at("records_dropped_nobody"), publish.at("records_in")) << "nobody subscribed";
    Node node(config);
    for (int i = 0; i < 2; ++i) EXPECT_THAT(node.notices(), testing::IsEmpty());
    EXPECT_THAT(node.states()["publish"], testing::HasSubstr(config.publish.address));
}

TEST(Node, APortInUseIsNamed) {
    const Node first(node_config({"receive+build", "trigger+emit+store"}));
    NodeConfig config = node_config({"receive+build", "trigger+emit+store"});
    config.intake.backend.ports[1] = first.ports()[0];
    try {
        const Node second(config);
        FAIL() << "two nodes at one port";
    } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()).find(std::to_string(first.ports()[0])), std::string::npos) << error.what();
    }
}

TEST(Node, StopsCleanlyWithoutAnyData) {
    Node node(node_config({"receive+build", "trigger+emit+store"}));
    node.start();
    node.stop();
    EXPECT_EQ(values_of(node.counters()).at("trigger").at("events"), 0U);
    EXPECT_THAT(node.notices(), testing::IsEmpty()) << "there was nothing to wait for";
}

}  // namespace
}  // namespace anello::rich::node_test

// SPDX-License-Identifier: Apache-2.0
// The RICH's chain with the exchange between two of its stages reports the same as without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <regex>

#include "pipeline/exchange_node.hpp"
#include "rich/farm/ends.hpp"
#include "rich/tests/chain.hpp"
#include "stream/stream.hpp"

namespace anello::rich::farm_node_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::size_t max_mfp_bytes = 1 << 18;

/// A farm of a single node.
pipeline::ExchangeNodeConfig farm_config(const NodeConfig& node) {
    static std::uint64_t farm_id = 500;
    pipeline::ExchangeNodeConfig config;
    config.exchange.farm = exchange::parse_roles({"all"}, 1);
    config.exchange.packing = 156;
    RichFrames frames;
    frames.packing = config.exchange.packing;
    frames.meps_per_burst = static_cast<std::uint32_t>(burst_ms) + 2;  // a packet has 1 ms
    config.exchange.n_meps = 2 * frames.meps_per_burst;
    config.exchange.n_credits = 8;
    config.max_mfp_bytes = config.fabric.max_message_bytes = max_mfp_bytes;
    config.fabric.transport = fabric::Transport::tcp;
    config.fabric.n_peers = 1;
    config.fabric.farm_id = ++farm_id;
    config.threads = pipeline::parse_layout({"generator+readout+builder+manager"}, {}, pipeline::exchange_chain);
    config.make_input = make_input({node, frames, n_boards});
    config.make_output = make_output({node, frames, n_boards});
    return config;
}

ChainResult run_farm(const NodeConfig& config, const source::FaultsConfig& faults = {}) {
    pipeline::ExchangeNode node(farm_config(config));
    return run_through(node, faults);
}

/// A plug-in or device, with the expected state and notice.
struct Algorithm {
    std::string name;
    void (*use)(DeciderConfig&);
    std::string state;
    std::string fault{};                             ///< expected in a notice; empty: none
    TriggerCounter counter = TriggerCounter::count;  ///< counter whose value is in the notice
};

void PrintTo(const Algorithm& algorithm, std::ostream* out) {
    *out << algorithm.name;
}

void use_faulty(DeciderConfig& trigger, const char* fault) {
    trigger.plugin_name = "faulty";
    trigger.make_plugin = load_plugin({ANELLO_TEST_PLUGINS "/libplugin_faulty.so", fault});
}

const Algorithm algorithms[]{
    {.name = "built_in", .use = [](DeciderConfig&) {}, .state = "multiring on"},
    {.name = "right",
     .use =
         [](DeciderConfig& trigger) {
             trigger.plugin_name = "cut";
             trigger.make_plugin = load_plugin({ANELLO_TEST_PLUGINS "/libplugin_single_ring_cut.so", ""});
         },
     .state = "plugin cut"},
    {.name = "fails",
     .use = [](DeciderConfig& trigger) { use_faulty(trigger, "fail"); },
     .state = "plugin faulty",
     .fault = "the plugin failed for",
     .counter = TriggerCounter::plugin_failed_batches},
    {.name = "no_number",
     .use = [](DeciderConfig& trigger) { use_faulty(trigger, "no number"); },
     .state = "plugin faulty",
     .fault = "that are none (NaN",
     .counter = TriggerCounter::plugin_invalid_rings},
    {.name = "wrong_primitive",
     .use = [](DeciderConfig& trigger) { use_faulty(trigger, "timestamp"); },
     .state = "plugin faulty",
     .fault = "the plugin chose",
     .counter = TriggerCounter::plugin_invalid_primitives},
    {.name = "broken_device",
     .use =
         [](DeciderConfig& trigger) {
             trigger.make_device = [](const Placement&) { return std::make_unique<BrokenDevice>(); };
         },
     .state = "on cuda (broken)",
     .fault = "the CUDA device failed on",
     .counter = TriggerCounter::cuda_failures},
};

class AnyAlgorithm : public testing::TestWithParam<Algorithm> {
  protected:
    NodeConfig config() const {
        NodeConfig config = node_config({"receive+build", "trigger", "emit+store"});
        GetParam().use(config.trigger);
        return config;
    }
    /// Notices about plug-in and device only, because boards may have been silent on a busy machine.
    static std::vector<std::string> told(const ChainResult& run) {
        std::vector<std::string> lines;
        for (const std::string& line : run.notices)
            if (line.find("plugin") != line.npos || line.find("CUDA") != line.npos) lines.push_back(line);
        return lines;
    }
    /// The last notice must have the exact number.
    void expect_told(const ChainResult& run) const {
        ASSERT_TRUE(run.finished);
        EXPECT_THAT(run.states.at("trigger"), HasSubstr(GetParam().state));
        if (GetParam().fault.empty()) {
            EXPECT_THAT(told(run), testing::IsEmpty());
            return;
        }
        const std::size_t index = static_cast<std::size_t>(GetParam().counter);
        const auto n = run.node.at("trigger").at(counter_labels<TriggerCounter>[index].name);
        EXPECT_GT(n, 0U);
        ASSERT_THAT(told(run), Contains(HasSubstr(GetParam().fault)));
        EXPECT_THAT(told(run).back(), HasSubstr(" " + std::to_string(n) + " ")) << "all of them, not so far";
    }
};

std::vector<std::string> without_numbers(const std::vector<std::string>& notices) {
    std::vector<std::string> lines;
    for (const std::string& line : notices) lines.push_back(std::regex_replace(line, std::regex("[0-9]+"), "n"));
    return lines;
}

TEST_P(AnyAlgorithm, TellsTheSameAloneAndInAFarm) {
    const ChainResult alone = run_chain(config()), farm = run_farm(config());
    expect_told(alone);
    expect_told(farm);
    EXPECT_EQ(alone.states.at("trigger"), farm.states.at("trigger"));
    EXPECT_EQ(without_numbers(told(alone)), without_numbers(told(farm)));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AnyAlgorithm, testing::ValuesIn(algorithms),
                         [](const auto& test) { return test.param.name; });

/// A farm shows each state that the chain shows without a farm.
TEST(RichFarm, HasTheStatesOfTheChain) {
    const NodeConfig config = node_config({"receive+build", "trigger", "emit+store"});
    const ChainResult alone = run_chain(config), farm = run_farm(config);
    ASSERT_TRUE(alone.states.contains("memory"));
    for (const auto& [name, state] : alone.states)
        EXPECT_EQ(farm.states.contains(name) ? farm.states.at(name) : "none", state) << name;
}

TEST(RichFarm, PublishesDecisions) {
    const std::string address = "@anello-rich-farm-" + std::to_string(getpid());
    NodeConfig config = node_config({"receive+build", "trigger", "emit+store"});
    config.publish = {.to = publish::PublishTo::stream, .address = address, .when_full = publish::WhenFull::drop};
    pipeline::ExchangeNodeConfig farm = farm_config(config);
    farm.publish = {.to = publish::PublishTo::stream, .address = address + "-meps"};
    pipeline::ExchangeNode node(farm);
    CounterPage page;
    stream::StreamConfig standing;
    standing.direction = stream::Direction::receive;
    const auto subscriber = stream::connect(address, standing, page.add_block<stream::StreamCounter>("subscriber"));
    const ChainResult run = run_through(node);
    ASSERT_TRUE(run.finished);
    const auto& published = run.node.at("publish.decisions");
    EXPECT_EQ(published.at("records_in"), run.node.at("trigger").at("batches"));
    EXPECT_GT(published.at("records_in"), 0U);
    EXPECT_EQ(run.node.at("publish.decisions.subscriber0").at("subscriptions"), 1U);
    const auto& built = run.node.at("builder");
    EXPECT_EQ(run.node.at("publish").at("records_in"), built.at("meps_complete") + built.at("meps_incomplete"));
    EXPECT_THAT(run.states.at("publish.decisions"), HasSubstr(address));
    EXPECT_THAT(run.states.at("publish"), HasSubstr(address + "-meps"));
}

/// Runs each test without and with a farm.
class EitherWay : public testing::TestWithParam<bool> {
  protected:
    ChainResult run(const NodeConfig& config) const { return GetParam() ? run_farm(config) : run_chain(config); }
    static std::uint64_t sum(const ChainResult& run, const std::string& block, const std::string& name) {
        std::uint64_t total = 0;
        for (std::uint32_t board = 0; board < n_boards; ++board)
            total += run.node.at(block + std::to_string(board)).at(name);
        return total;
    }
};

TEST_P(EitherWay, ABoardThatComesBackIsTold) {
    NodeConfig config = node_config({"receive+build", "trigger", "emit+store"});
    config.build.timeout_ns = 20'000'000;
    const std::uint32_t quiet = n_boards - 1;  // sends nothing in the first burst
    const auto run_it = [&](auto& node) {
        RichSourceConfig first = source_config(node.ports()), second = first;
        first.n_bursts = second.n_bursts = 1;
        first.boards.pop_back();
        second.first_burst_id = 1;
        source::UdpSink sink(second.boards);
        node.start();
        send(first, sink);
        EXPECT_TRUE(anello::test::comes_true(
            [&] { return values_of(node.counters()).at("build.board" + std::to_string(quiet)).at("silences") > 0; }));
        send(second, sink);
        return end_of(node);
    };
    ChainResult run;
    if (GetParam()) {
        pipeline::ExchangeNode node(farm_config(config));
        run = run_it(node);
    } else {
        Node node(config);
        run = run_it(node);
    }
    ASSERT_TRUE(run.finished);
    EXPECT_THAT(run.notices, Contains(HasSubstr("board " + std::to_string(quiet) + " was silent and sends again")));
}

/// Decides nothing before the test allows it.
class WaitingPlugin final : public Plugin {
  public:
    explicit WaitingPlugin(const std::atomic<bool>& may_decide) : may_decide_(may_decide) {}
    bool decide(const anello_trigger_batch&, anello_trigger_decisions&) noexcept override {
        may_decide_.wait(false);
        return true;
    }

  private:
    const std::atomic<bool>& may_decide_;
};

TEST_P(EitherWay, PacketsThatAreDroppedAreTold) {
    std::atomic<bool> may_decide{false};
    NodeConfig config = node_config({"receive+build", "trigger", "emit+store"});
    config.intake.n_buffers = 4;
    config.intake.stream.full_policy = receive::FullPolicy::drop_new;
    config.n_batches = 2;
    config.trigger.make_plugin = [&] { return std::make_unique<WaitingPlugin>(may_decide); };
    const auto drop_and_go_on = [&](auto& node) {
        EXPECT_TRUE(anello::test::comes_true(
            [&] { return values_of(node.counters()).at("receive.board0").at("dropped_packets") > 0; }));
        may_decide = true;
        may_decide.notify_all();
    };
    const auto run_it = [&](auto& node) { return run_through(node, {}, Format::mgp, [&] { drop_and_go_on(node); }); };
    ChainResult run;
    if (GetParam()) {
        pipeline::ExchangeNodeConfig farm = farm_config(config);
        farm.n_buffers = farm.exchange.n_credits = 2;
        pipeline::ExchangeNode node(farm);
        run = run_it(node);
    } else {
        Node node(config);
        run = run_it(node);
    }
    EXPECT_GT(sum(run, "receive.board", "dropped_packets"), 0U);
    EXPECT_THAT(run.notices, Contains(HasSubstr("packets found no free buffer")));
}

INSTANTIATE_TEST_SUITE_P(RichFarm, EitherWay, testing::Bool(),
                         [](const auto& test) { return test.param ? "InAFarm" : "Alone"; });

}  // namespace
}  // namespace anello::rich::farm_node_test

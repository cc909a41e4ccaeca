// SPDX-License-Identifier: Apache-2.0
// A manager that may be lost (docs/decisions/0021-standby.md), in virtual time: who takes over, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "simulate/farm/farm_oracle.hpp"
#include "simulate/farm/farm_search.hpp"

namespace anello::simulate::standby_test {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr Node manager = 0, standby = 1;

FarmScenario farm_with_standby() {
    FarmScenario scenario;
    scenario.n_nodes = scenario.network.n_nodes = 4;
    scenario.roles = {"em+ru+bu", "sb+ru+bu", "ru+bu", "ru+bu"};
    scenario.n_meps = 700;
    scenario.rate_hz = 1'000;
    scenario.waits_for_data = true;
    return scenario;
}

std::string all_of(const std::vector<std::string>& findings) {
    std::string all;
    for (const std::string& one : findings) all += one + "\n";
    return all;
}

std::vector<Built> built_by(const FarmProcess& process) {
    return process.sink() == nullptr ? std::vector<Built>{} : process.sink()->built();
}

struct Outcome {
    explicit Outcome(const FarmScenario& scenario) : farm(scenario) {
        farm.run();
        findings = all_of(judge(farm));
        for (const auto& host : farm.hosts())
            for (const auto& process : host->processes())
                for (const Built& one : built_by(*process)) {
                    built.insert(one.mep);
                    times.push_back(one.at_ns);
                }
        std::ranges::sort(times);
    }
    const exchange::Station& station(Node node, std::size_t life = 0) const {
        return farm.hosts()[node]->processes()[life]->station();
    }
    bool has_taken_over() const { return station(standby).manager()->has_taken_over(); }
    Nanoseconds longest_gap_ns() const {
        Nanoseconds longest_ns = 0;
        for (std::size_t i = 1; i < times.size(); ++i) longest_ns = std::max(longest_ns, times[i] - times[i - 1]);
        return longest_ns;
    }

    SimulatedFarm farm;
    std::string findings;
    std::set<std::uint64_t> built;
    std::vector<Nanoseconds> times;
};

class Takeover : public testing::TestWithParam<std::tuple<exchange::Protocol, DoneWhen>> {
  protected:
    Takeover() { std::tie(scenario.protocol, scenario.network.done_when) = GetParam(); }
    FarmScenario scenario = farm_with_standby();
};

std::string name_of(const testing::TestParamInfo<Takeover::ParamType>& info) {
    const auto& [protocol, done_when] = info.param;
    return std::string(exchange::name_of(protocol)) + (done_when == DoneWhen::copied ? "Copied" : "Arrived");
}

INSTANTIATE_TEST_SUITE_P(Protocols, Takeover,
                         testing::Combine(testing::Values(exchange::Protocol::push, exchange::Protocol::pull,
                                                          exchange::Protocol::shift),
                                          testing::Values(DoneWhen::copied, DoneWhen::arrived)),
                         name_of);

/// The packets of the manager's builder are lost with it, and so are numbers that no other node knows.
TEST_P(Takeover, BuildingGoesOnWithinTwoSeconds) {
    for (const FaultKind kind : {FaultKind::crash, FaultKind::power, FaultKind::abort}) {
        scenario.faults = {{.kind = kind, .node = manager, .at_ns = 900 * ms}};
        const Outcome outcome(scenario);
        EXPECT_EQ(outcome.findings, "");
        EXPECT_TRUE(outcome.has_taken_over());
        EXPECT_LT(outcome.longest_gap_ns(), 2'000 * ms);
        const std::size_t n_lost = scenario.n_meps - outcome.built.size();
        EXPECT_EQ(n_lost, outcome.station(standby).manager()->lost_meps().size());
        EXPECT_LE(n_lost, scenario.n_credits + 8U * 4U);
        for (const Node node : {Node{1}, Node{2}, Node{3}}) EXPECT_TRUE(outcome.station(node).finished());
    }
}

/// It stands still until the others have another manager, and runs again after that.
TEST_P(Takeover, AManagerThatGoesOnAssignsNothingAnyMore) {
    scenario.faults = {{.kind = FaultKind::stop, .node = manager, .at_ns = 900 * ms, .lasts_ns = 3'000 * ms}};
    const Outcome outcome(scenario);
    EXPECT_EQ(outcome.findings, "");
    EXPECT_TRUE(outcome.has_taken_over());
    EXPECT_LT(outcome.longest_gap_ns(), 2'000 * ms);
    EXPECT_LT(outcome.station(manager).manager()->next_mep(), 300U);
    EXPECT_NE(outcome.station(manager).failure(), "");
}

TEST_P(Takeover, OneThatIsCutOffFromTheMostEnds) {
    for (const Node node : {Node{1}, Node{2}, Node{3}})
        scenario.faults.push_back(
            {.kind = FaultKind::cut, .node = manager, .other = node, .at_ns = 900 * ms, .lasts_ns = 10'000 * ms});
    const Outcome outcome(scenario);
    EXPECT_EQ(outcome.findings, "");
    EXPECT_TRUE(outcome.has_taken_over());
    EXPECT_LT(outcome.longest_gap_ns(), 2'000 * ms);
    EXPECT_NE(outcome.station(manager).failure().find("too few nodes"), std::string::npos);
}

/// Half of the nodes or more hear of it, and the standby ends.
TEST_P(Takeover, AManagerThatLosesItsStandbyGoesOn) {
    scenario.faults = {
        {.kind = FaultKind::cut, .node = manager, .other = standby, .at_ns = 900 * ms, .lasts_ns = 10'000 * ms}};
    const Outcome outcome(scenario);
    EXPECT_EQ(outcome.findings, "");
    EXPECT_FALSE(outcome.has_taken_over());
    EXPECT_LT(outcome.longest_gap_ns(), 3'000 * ms);
    EXPECT_TRUE(outcome.station(manager).finished());
    EXPECT_NE(outcome.station(standby).failure(), "");
}

TEST_P(Takeover, TheOneBeforeMayComeAgainAsAnyOther) {
    scenario.faults = {{.kind = FaultKind::crash, .node = manager, .at_ns = 900 * ms, .lasts_ns = 200 * ms}};
    const Outcome outcome(scenario);
    EXPECT_EQ(outcome.findings, "");
    EXPECT_TRUE(outcome.has_taken_over());
    ASSERT_EQ(outcome.farm.hosts()[manager]->processes().size(), 2U);
    EXPECT_TRUE(outcome.station(manager, 1).finished());
    EXPECT_FALSE(outcome.farm.hosts()[manager]->processes()[1]->sink()->built().empty());
}

/// The manager dies before all nodes know that the run has begun, as messages may be lost; its next life manages none.
TEST(Found, ANodeThatHadNotBegunFollowsThoughTheManagerIsThereAgain) {
    FarmScenario scenario = farm_with_standby();
    scenario.roles = {"em+ru+bu", "ru+bu", "ru+bu", "sb"};
    scenario.n_meps = 1;
    scenario.told_ns = 0;
    scenario.timeout_ns = 929 * ms;
    scenario.network.latency_ns = 5'150;
    scenario.network.gbps = 10;
    scenario.network.reliable = false;
    scenario.faults = {{.kind = FaultKind::crash, .node = manager, .at_ns = 6 * ms, .lasts_ns = ms}};
    scenario.network.loss = 0.1;
    for (scenario.seed = 1; scenario.seed < 200; ++scenario.seed) {
        scenario.network.seed = scenario.seed;
        EXPECT_EQ(all_of(run(scenario).findings), "") << scenario.seed;
    }
}

/// A node follows when it is called: most have lost the manager, and it has not noticed yet.
TEST(Found, ANodeThatHadNotBegunFollowsWhenItIsCalled) {
    FarmScenario scenario = farm_with_standby();
    scenario.roles = {"em+ru+bu", "ru+bu", "sb+ru+bu", "ru+bu", "ru+bu"};
    scenario.n_nodes = scenario.network.n_nodes = 5;
    scenario.n_meps = 1;
    scenario.told_ns = 0;
    scenario.network.reliable = false;
    scenario.network.loss = 0.1;
    for (std::int64_t seed = 1; seed < 300; ++seed) {
        scenario.seed = scenario.network.seed = static_cast<std::uint64_t>(seed);
        scenario.faults = {{.kind = FaultKind::power, .node = manager, .at_ns = (1 + seed % 40) * ms}};
        EXPECT_EQ(all_of(run(scenario).findings), "") << seed;
    }
}

/// What the manager may assign is bounded by what the standby has acknowledged: which must not wait for its next sign
/// of life.
TEST(Found, WithAStandbyAndOneCreditNoPacketWaitsForAnAcknowledgement) {
    FarmScenario scenario = farm_with_standby();
    scenario.n_nodes = scenario.network.n_nodes = 3;
    scenario.roles = {"em", "ru+bu", "sb+ru"};
    scenario.n_credits = 1;
    scenario.rate_hz = 0;
    scenario.n_meps = 200;
    const Outcome outcome(scenario);
    EXPECT_EQ(outcome.findings, "");
    EXPECT_EQ(outcome.built.size(), 200U);
    EXPECT_LT(outcome.longest_gap_ns(), 10 * ms);
}

/// The manager slept while the standby took over and died. The standby's next process does not know of that: were it
/// counted, the manager would assign again what others have built.
TEST(Found, AManagerThatSleptDoesNotCountWhoHasComeAgain) {
    FarmScenario scenario = farm_with_standby();
    scenario.n_nodes = scenario.network.n_nodes = 3;
    scenario.roles = {"em+ru+bu", "sb+ru+bu", "ru+bu"};
    scenario.protocol = exchange::Protocol::shift;
    scenario.faults = {
        {.kind = FaultKind::stop, .node = manager, .at_ns = 10 * ms, .lasts_ns = 3'500 * ms},
        {.kind = FaultKind::crash, .node = standby, .at_ns = 2'100 * ms, .lasts_ns = 150 * ms},
    };
    const Outcome outcome(scenario);
    EXPECT_EQ(outcome.findings, "");
    EXPECT_TRUE(outcome.has_taken_over());
    EXPECT_THAT(outcome.station(manager).manager()->failure(), testing::HasSubstr("too few nodes"));
}

/// The manager dies at any of its steps, the first as well as the last, whatever others know of its last actions.
TEST_P(Takeover, MayBeginAtAnyStep) {
    scenario.n_meps = 60;
    scenario.rate_hz = 0;
    std::size_t n_taken_over = 0;
    for (std::uint32_t step = 5; step < 125; step += 3) {
        scenario.faults = {{.kind = FaultKind::crash, .node = manager, .at_step = step, .after_packets = step % 4}};
        const Outcome outcome(scenario);
        EXPECT_EQ(outcome.findings, "") << "step " << step;
        n_taken_over += outcome.has_taken_over() ? 1 : 0;
    }
    EXPECT_GT(n_taken_over, 5U);
}

}  // namespace
}  // namespace anello::simulate::standby_test

// SPDX-License-Identifier: Apache-2.0
// Farms in virtual time: what happens is a function of configuration and seed, and each run is explained.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/errors.hpp"
#include "effort.hpp"
#include "seed.hpp"
#include "simulate/farm/farm_search.hpp"
#include "simulate/farm/farm_trace.hpp"
#include "simulate/scenario_keys.hpp"

namespace anello::simulate::farm_test {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr std::uint64_t n_parts = 10;

FarmScenario small_farm(std::uint16_t n_nodes = 3) {
    FarmScenario scenario;
    scenario.n_nodes = scenario.network.n_nodes = n_nodes;
    scenario.n_meps = 40;
    return scenario;
}

std::string all_of(const std::vector<std::string>& findings) {
    std::string all;
    for (const std::string& one : findings) all += one + "\n";
    return all;
}

TEST(SimulatedFarm, OneSeedIsOneRun) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const FarmRun first = run(draw(seed, {})), second = run(draw(seed, {}));
        EXPECT_EQ(first.digest, second.digest) << seed;
        EXPECT_EQ(first.n_built, second.n_built) << seed;
    }
    EXPECT_NE(run(draw(1, {})).digest, run(draw(2, {})).digest);
}

TEST(SimulatedFarm, WithoutFaultsBuildsAllInEveryProtocol) {
    for (const auto protocol : {exchange::Protocol::push, exchange::Protocol::pull, exchange::Protocol::shift})
        for (const DoneWhen done_when : {DoneWhen::copied, DoneWhen::arrived}) {
            FarmScenario scenario = small_farm();
            scenario.protocol = protocol;
            scenario.network.done_when = done_when;
            const FarmRun farm = run(scenario);
            EXPECT_EQ(all_of(farm.findings), "");
            EXPECT_EQ(farm.n_built, 40U);
            EXPECT_EQ(farm.n_incomplete, 0U);
            EXPECT_EQ(farm.n_fragments, 40U * 3 * scenario.packing);
        }
}

/// In parts, which run in parallel. A seed that is not explained is shown by `anello simulate --replay SEED`.
class FarmSearch : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FarmSearch, WhateverHappensIsExplained) {
    const std::uint64_t n_of_part = anello::test::some_of(300);
    const std::uint64_t first = anello::test::first_seed(n_parts * n_of_part) + GetParam() * n_of_part;
    const Totals totals = search(first, n_of_part, {});
    std::printf("seeds from %llu, %llu faults, %.0f s of virtual time\n", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(totals.n_faults), static_cast<double>(totals.virtual_ns) * 1e-9);
    EXPECT_GT(totals.n_faults, n_of_part / 3);
    for (const std::uint64_t seed : totals.failed)
        ADD_FAILURE() << "seed " << seed << ": " << all_of(run(draw(seed, {})).findings);
}

INSTANTIATE_TEST_SUITE_P(Parts, FarmSearch, testing::Range(std::uint64_t{0}, n_parts));

TEST(SimulatedFarm, WhateverOnceWasNotIsExplained) {
    for (const auto& [seed, what] : anello::test::found_seeds("farm_seeds"))
        EXPECT_EQ(all_of(run(draw(seed, {})).findings), "") << "seed " << seed << ", which found: " << what;
}

TEST(SimulatedFarm, ACrashCostsWhatTheNodeHadAndNoMore) {
    FarmScenario scenario = small_farm();
    scenario.rate_hz = 1'000;
    scenario.waits_for_data = true;
    scenario.faults = {{.kind = FaultKind::crash, .node = 2, .at_ns = 80 * ms}};
    const FarmRun farm = run(scenario);
    EXPECT_EQ(all_of(farm.findings), "");
    EXPECT_TRUE(farm.fault_times.front().happened);
    EXPECT_GT(farm.n_incomplete, 10U);
    EXPECT_LT(farm.n_incomplete, 30U);
}

TEST(SimulatedFarm, AFaultOfAStepHappensInThatStep) {
    FarmScenario scenario = small_farm();
    scenario.faults = {{.kind = FaultKind::crash, .node = 1, .at_step = 15, .lasts_ns = 5 * ms}};
    SimulatedFarm farm(scenario);
    farm.run();
    EXPECT_TRUE(farm.fault_times().front().happened);
    EXPECT_EQ(farm.hosts()[1]->processes().size(), 2U) << "it came again";
    EXPECT_TRUE(farm.is_over());
}

/// A step sends packets before and after its process dies: each further packet is another run.
TEST(SimulatedFarm, AProcessMayDieWithinAStep) {
    FarmScenario scenario = small_farm();
    std::size_t n_most = 0;
    for (std::uint64_t step = 4; step < 24; ++step) {
        scenario.faults = {{.kind = FaultKind::crash, .node = 0, .at_step = step}};
        std::set<std::uint64_t> digests{run(scenario).digest};
        for (scenario.faults.front().after_packets = 0; scenario.faults.front().after_packets < 4;
             ++scenario.faults.front().after_packets) {
            const FarmRun farm = run(scenario);
            EXPECT_TRUE(farm.fault_times.front().happened);
            EXPECT_EQ(all_of(farm.findings), "");
            digests.insert(farm.digest);
        }
        n_most = std::max(n_most, digests.size());
    }
    EXPECT_GE(n_most, 4U);
}

/// A process dies in its last step, too: a loss that it would have counted then is counted by none.
TEST(SimulatedFarm, AProcessMayDieWithinItsLastStep) {
    FarmScenario scenario = small_farm(2);
    scenario.network.loss = 0.1;
    scenario.network.reliable = false;
    int n_last = 0;
    for (std::uint64_t step = 1; n_last < 3; ++step) {
        scenario.faults = {{.kind = FaultKind::crash, .node = 1, .at_step = step, .after_packets = 1'000}};
        const FarmRun farm = run(scenario);
        EXPECT_EQ(all_of(farm.findings), "") << "step " << step;
        n_last = farm.fault_times.front().happened ? 0 : n_last + 1;  // it has ended before
        ASSERT_LT(step, 5'000U);
    }
}

/// Each kind of fault has an effect: without it the same farm runs differently.
TEST(SimulatedFarm, EveryFaultMakesADifference) {
    FarmScenario scenario = small_farm();
    scenario.rate_hz = 1'000;
    scenario.waits_for_data = true;
    const std::uint64_t digest = run(scenario).digest;
    for (std::size_t kind = 0; kind < words_of<FaultKind>.size(); ++kind) {
        scenario.faults = {{.kind = static_cast<FaultKind>(kind),
                            .node = 1,
                            .other = 2,
                            .at_ns = 40 * ms,
                            .lasts_ns = 60 * ms,
                            .factor = 50}};
        const FarmRun farm = run(scenario);
        EXPECT_TRUE(farm.fault_times.front().happened) << words_of<FaultKind>[kind];
        EXPECT_NE(farm.digest, digest) << words_of<FaultKind>[kind];
        EXPECT_EQ(all_of(farm.findings), "") << words_of<FaultKind>[kind];
        EXPECT_NE(scenario.faults.front().describe().find(" 1"), std::string::npos);
    }
}

/// After its hello, before the manager's list of live nodes. It did not connect again to peers that it gave up, which
/// it does before its transport does when it has just stood still.
TEST(Found, ANodeWhoseManagerFallsSilentEarlyEnds) {
    FarmScenario scenario = small_farm();
    scenario.network.latency_ns = 25'000;
    scenario.told_ns = 0;
    scenario.faults = {{.kind = FaultKind::power, .node = 0, .at_step = 3},
                       {.kind = FaultKind::stop, .node = 2, .at_ns = 1'018 * ms, .lasts_ns = 366 * ms}};
    EXPECT_EQ(all_of(run(scenario).findings), "");
}

/// The manager dies just before the time for the start is over: a node waited for a time to connect that had passed.
TEST(Found, ANodeWhoseManagerDiesAtTheEndOfTheStartEnds) {
    for (Nanoseconds at_ns = 9'800 * ms; at_ns < 10'010 * ms; at_ns += 3 * ms) {
        FarmScenario scenario = small_farm();
        scenario.told_ns = 0;
        scenario.faults = {{.kind = FaultKind::crash, .node = 2, .at_step = 1},
                           {.kind = FaultKind::crash, .node = 0, .at_ns = at_ns}};
        EXPECT_EQ(all_of(run(scenario).findings), "") << at_ns;
    }
}

/// MFPs that a builder far behind its peers still had to ask for were dropped.
TEST(Found, WithPullABuilderThatWasHeldUpGetsAll) {
    const Draw limits{.kinds = {},
                      .set = {"n_nodes=4", "roles=em+ru+bu,ru+bu,ru+bu,ru+bu", "protocol=pull", "n_meps=200",
                              "n_credits=4", "reliable=1", "when_full=wait", "preemption=0.05", "preempted_ns=2e7"}};
    for (std::uint64_t seed = 1; seed <= anello::test::some_of(250U); ++seed) {
        const FarmRun farm = run(draw(seed, limits));
        EXPECT_EQ(all_of(farm.findings), "") << seed;
        EXPECT_EQ(farm.n_incomplete, 0U) << seed;
    }
}

/// A transport has room for one message, and takes half a millisecond for it: control messages left none for MFPs.
TEST(Found, ControlMessagesLeaveRoomForParts) {
    FarmScenario scenario = small_farm(4);
    scenario.n_meps = 178;
    scenario.packing = 6;
    scenario.n_buffers = 15;
    scenario.max_in_flight = 1;
    scenario.rate_hz = 108'381;
    scenario.waits_for_data = true;
    scenario.timeout_ns = 243'277'640;
    scenario.step_ns = 1'965;
    scenario.thing_ns = 5'830;
    scenario.wake_ns = 37'858;
    scenario.core_gbps = 5;
    scenario.told_ns = 0;
    scenario.network.gbps = 100;
    scenario.network.latency_ns = 302'883;
    scenario.network.done_when = DoneWhen::arrived;
    scenario.network.window_bytes = 2'000;
    scenario.network.nodes_per_leaf = 3;
    scenario.network.n_spines = 1;
    scenario.network.buffer_bytes = 3'796'037;
    const FarmRun farm = run(scenario);
    EXPECT_EQ(all_of(farm.findings), "");
    EXPECT_EQ(farm.n_incomplete, 0U);
}

/// Parts waited for the first part of their round, for longer than their packet waits.
TEST(Found, WithShiftASlowSourceLosesNothing) {
    FarmScenario scenario = small_farm(5);
    scenario.protocol = exchange::Protocol::shift;
    scenario.n_meps = 20;
    scenario.rate_hz = 4 / 0.18;
    scenario.timeout_ns = 300 * ms;
    scenario.waits_for_data = true;
    const FarmRun farm = run(scenario);
    EXPECT_EQ(all_of(farm.findings), "");
    EXPECT_EQ(farm.n_incomplete, 0U);
}

TEST(ScenarioKeys, AreSetByNameAndRefusedByName) {
    FarmScenario scenario = draw(7, {});
    for (const char* assignment :
         {"n_nodes=3", "protocol=shift", "n_meps=12", "gbps=2.5", "done_when=arrived", "roles=em,ru,bu", "faults="})
        set(scenario, assignment);
    EXPECT_EQ(scenario.n_nodes, 3);
    EXPECT_EQ(scenario.network.n_nodes, 3);
    EXPECT_EQ(scenario.protocol, exchange::Protocol::shift);
    EXPECT_EQ(scenario.n_meps, 12U);
    EXPECT_EQ(scenario.network.gbps, 2.5);
    EXPECT_EQ(scenario.network.done_when, DoneWhen::arrived);
    EXPECT_EQ(scenario.roles, (std::vector<std::string>{"em", "ru", "bu"}));
    EXPECT_TRUE(scenario.faults.empty());
    for (const char* wrong : {"n_meps", "n_meps=", "n_meps=x", "n_meps=0", "n_meps=1e300", "nothing=1", "=1", "",
                              "protocol=throw", "faults=0", "faults=-1", "roles=em,em,bu", "gbps=nan"})
        EXPECT_THROW(set(scenario, wrong), ConfigError) << wrong;
}

/// Errors are found before the run begins: in virtual time no process may throw.
TEST(SimulatedFarm, AFarmThatCannotBeIsRefused) {
    const auto refused = [](const std::vector<const char*>& assignments) {
        FarmScenario scenario = small_farm();
        for (const char* assignment : assignments) set(scenario, assignment);
        EXPECT_THROW(run(scenario), ConfigError) << assignments.front();
    };
    refused({"protocol=shift", "n_buffers=3"});
    refused({"packing=65535", "fragment_bytes=30000"});
    refused({"heartbeat_ns=2000000000"});
}

TEST(ScenarioKeys, WithFewerNodesThereAreNoFaultsOfTheOthers) {
    FarmScenario scenario = small_farm(4);
    scenario.faults = {{.kind = FaultKind::stop, .node = 3},
                       {.kind = FaultKind::cut, .node = 0, .other = 3},
                       {.kind = FaultKind::stop, .node = 2}};
    set(scenario, "n_nodes=3");
    ASSERT_EQ(scenario.faults.size(), 1U);
    EXPECT_EQ(scenario.faults.front().node, 2);
}

TEST(Draw, SettingsHoldInEveryFarmAndFaultsFitThem) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const FarmScenario scenario = draw(seed, {.kinds = {FaultKind::cut}, .set = {"n_nodes=2", "n_meps=3"}});
        EXPECT_EQ(scenario.n_nodes, 2);
        EXPECT_EQ(scenario.n_meps, 3U);
        for (const Fault& fault : scenario.faults) {
            EXPECT_EQ(fault.kind, FaultKind::cut);
            EXPECT_EQ(fault.node + fault.other, 1);
        }
    }
    EXPECT_TRUE(draw(1, {.kinds = {}, .set = {}}).faults.empty());
}

TEST(Trace, TellsProcessesFaultsMessagesAndPackets) {
    FarmScenario scenario = small_farm();
    scenario.faults = {{.kind = FaultKind::crash, .node = 2, .at_step = 20}};
    SimulatedFarm farm(scenario);
    const std::vector<TraceLine> lines = run_traced(farm, 100);
    const auto count = [&](const std::string& kind, const std::string& text) {
        return std::count_if(lines.begin(), lines.end(), [&](const TraceLine& line) {
            return line.kind == kind && line.text.find(text) != std::string::npos;
        });
    };
    EXPECT_EQ(count("process", "starts"), 3);
    EXPECT_EQ(count("process", "dies"), 1);
    EXPECT_EQ(count("process", "finishes"), 2);
    EXPECT_EQ(count("fault", "node 2 crashes"), 1);
    EXPECT_EQ(count("link", "sees node 2 down"), 2);
    EXPECT_EQ(count("message", ""), 100);
    EXPECT_GT(count("message", "mfp "), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(count("built", "MEP ")), run(scenario).n_built);
    EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end(),
                               [](const TraceLine& one, const TraceLine& other) { return one.at_ns < other.at_ns; }));
    EXPECT_EQ(farm.world().digest(), run(scenario).digest) << "to look on changes nothing";
}

}  // namespace
}  // namespace anello::simulate::farm_test

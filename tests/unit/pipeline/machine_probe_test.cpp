// SPDX-License-Identifier: Apache-2.0
#include "pipeline/machine_probe.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace anello::pipeline {
namespace {

std::vector<int> usable() {
    cpu_set_t set;
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    return cores;
}

const HiccupProbe::Config nothing{.share = 0.01, .n_done = [] { return std::uint64_t{0}; }};

TEST(MachineProbe, WatchesTheCoresOfTheChainFirstThenTheOthers) {
    const std::vector<ThreadPlan> chain{{.name = "lane", .stages = {"lane"}, .cores = {77}, .realtime = true},
                                        {.name = "rest", .stages = {"rest"}}};
    const MachineProbe probe(chain, nothing, SystemClock::instance());
    ASSERT_EQ(probe.cores().size(), std::min(usable().size() + 1, MachineProbe::max_cores));
    EXPECT_EQ(probe.cores().front().core, 77);
    for (const auto& one : probe.cores()) EXPECT_EQ(one.is_on_the_way, one.core == 77);
}

TEST(MachineProbe, WhereNothingIsPinnedAllCoresAreOnTheWay) {
    const std::vector<ThreadPlan> chain{{.name = "all", .stages = {"all"}}};
    const MachineProbe probe(chain, nothing, SystemClock::instance());
    EXPECT_FALSE(probe.cores().empty());
    for (const auto& one : probe.cores()) EXPECT_TRUE(one.is_on_the_way);
}

TEST(MachineProbe, GoesBeforeRealtimeThreadsOnTheirOwnCores) {
    const std::vector<ThreadPlan> chain{
        {.name = "lane", .stages = {"lane"}, .cores = {usable().back()}, .realtime = true}};
    MachineProbe probe(chain, nothing, SystemClock::instance());
    const ChainPart part = probe.part();
    ASSERT_EQ(part.stages.size(), probe.cores().size());
    std::set<int> cores;
    for (const ThreadPlan& thread : part.threads) {
        EXPECT_TRUE(thread.realtime);
        EXPECT_TRUE(thread.goes_first);
        cores.insert(thread.core());
    }
    EXPECT_EQ(cores.size(), part.threads.size());
}

TEST(MachineProbe, RunsBesideAChainWhileThatHasData) {
    LatencyHistogram leg;
    std::unique_ptr<MachineProbe> probe;
    Runner runner;
    ChainPart chain;
    chain.stages.push_back({.name = "chain",
                            .do_work =
                                [&](std::uint32_t) {
                                    leg.record(1);
                                    return std::size_t{0};
                                },
                            .add_latency = [&](Latencies& latency) { latency["leg"] = &leg; }});
    runner.add(std::move(chain));
    EXPECT_EQ(add_probe(runner, 0, {}, SystemClock::instance()), nullptr);
    probe = add_probe(runner, 0.05, {}, SystemClock::instance());
    ASSERT_NE(probe, nullptr);
    runner.start();
    for (const auto& one : probe->cores())
        while (one.probe.delays().count() < 3) sched_yield();  // for ever: the test's time-out tells
    runner.stop();
    EXPECT_EQ(runner.latency().count("leg"), 1U);
    EXPECT_EQ(runner.latency().size(), 1U) << "what the machine does is no latency of the chain";
}

}  // namespace
}  // namespace anello::pipeline

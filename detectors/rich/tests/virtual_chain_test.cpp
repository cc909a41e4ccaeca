// SPDX-License-Identifier: Apache-2.0
#include "rich/simulate/virtual_chain.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/simulate/chain_seeds.hpp"

namespace anello::rich {
namespace {

using simulate::first_of;

constexpr Nanoseconds ms = 1'000'000;

const std::vector<std::vector<std::string>> layouts{{"receive+build+trigger+emit", "store"},
                                                    {"receive", "build+trigger+emit", "store"},
                                                    {"receive", "build", "trigger", "emit", "store"}};

/// No path waits for a timer without need: front ends send a packet after at most 0.1 ms, batches are closed after
/// 0.1 ms, and all other timers of the chain have 1 ms or more.
TEST(VirtualChain, WaitsForNoTimer) {
    for (const auto& layout : layouts) {
        const VirtualScenario scenario{.layout = layout, .n_trigger_threads = 2};
        VirtualChain chain(scenario);
        chain.run();
        EXPECT_EQ(first_of(judge(chain, scenario)), "");
        EXPECT_TRUE(chain.finished());
        EXPECT_GT(chain.events().size(), 1'000U);
        for (const auto& [key, event] : chain.events())
            EXPECT_LT(event.decided_ns - event.last_came_ns(), ms / 2) << "event " << (key & 0xffffffff);
    }
}

TEST(VirtualChain, IsAFunctionOfItsSeed) {
    const auto run = [](std::uint64_t seed) {
        VirtualChain chain(VirtualChain::drawn(seed));
        chain.run();
        return std::pair{chain.world().digest(), chain.n_steps()};
    };
    for (std::uint64_t seed = 1; seed < 20; ++seed) EXPECT_EQ(run(seed), run(seed)) << seed;
    EXPECT_NE(run(1), run(2));
}

TEST(VirtualChain, WhateverHappensIsExplained) {
    simulate::expect_all_explained<VirtualChain>("rich_chain_seeds", 300);
}

std::uint64_t restarts_of(const VirtualChain& chain, std::uint32_t board) {
    return chain.count("receive.board" + std::to_string(board), "source_restarts");
}

std::uint64_t conflicts_of(const VirtualChain& chain, std::uint32_t board) {
    return chain.count("receive.board" + std::to_string(board), "conflicting_packets");
}

/// All boards begin anew in the first burst, with new numbers of bursts, as when a crate loses its power.
VirtualScenario crate_reboots() {
    VirtualScenario scenario;
    scenario.troubles.boards = {.n_rebooting = n_boards, .reboot_at_ns = 8 * ms, .restarts_steps = true};
    return scenario;
}

TEST(VirtualChain, OnePacketOfABoardThatBeginsAnewIsLostByItsNumber) {
    VirtualScenario scenario;
    scenario.troubles.boards = {.n_rebooting = 1, .first_rebooting = 2, .reboot_at_ns = 8 * ms, .down_ns = ms};
    VirtualChain chain(scenario);
    chain.run();
    EXPECT_EQ(first_of(judge(chain, scenario)), "");
    EXPECT_EQ(restarts_of(chain, 2), 1U);
    EXPECT_EQ(conflicts_of(chain, 2), 1U);
    EXPECT_EQ(restarts_of(chain, 1), 0U);
}

TEST(VirtualChain, ABoardThatSaysThatItBeginsLosesNoPacketByItsNumber) {
    for (const bool restarts_clock : {false, true}) {
        VirtualScenario scenario;
        scenario.troubles.boards = {
            .n_rebooting = 1, .reboot_at_ns = 8 * ms, .restarts_clock = restarts_clock, .announces = true};
        VirtualChain chain(scenario);
        chain.run();
        EXPECT_EQ(first_of(judge(chain, scenario)), "");
        EXPECT_EQ(restarts_of(chain, 0), 1U) << "restarts_clock " << restarts_clock;
        EXPECT_EQ(conflicts_of(chain, 0), 0U);
    }
}

TEST(VirtualChain, TheBuilderFollowsACrateThatBeginsAnew) {
    const VirtualScenario scenario = crate_reboots();
    VirtualChain chain(scenario);
    chain.run();
    EXPECT_EQ(first_of(judge(chain, scenario)), "");
    std::size_t n_decided = 0;
    for (const auto& [key, event] : chain.events()) n_decided += event.anew.all() && event.n_decisions == 1 ? 1 : 0;
    EXPECT_GT(n_decided, chain.events().size() / 2);
}

TEST(VirtualChain, BoardsThatBeginAnewAreExplained) {
    simulate::expect_explained_with<VirtualChain>({{"n_rebooting=1", "first_rebooting=1"},
                                                   {"n_rebooting=2", "first_rebooting=1", "restarts_steps=0"},
                                                   {"n_rebooting=3", "first_rebooting=1"},
                                                   {"n_rebooting=4", "first_rebooting=0"}},
                                                  200);
}

TEST(VirtualChain, WrongClocksAreExplained) {
    simulate::expect_explained_with<VirtualChain>({{"n_wrong_clocks=1", "first_wrong_clock=3", "clock_step_ns=0"},
                                                   {"n_wrong_clocks=1", "first_wrong_clock=0", "clock_step_ns=3e6"},
                                                   {"n_wrong_clocks=1", "first_wrong_clock=1", "clock_step_ns=-3e6"},
                                                   {"n_wrong_clocks=4", "first_wrong_clock=0", "clock_step_ns=0"},
                                                   {"n_wrong_clocks=3", "first_wrong_clock=0", "clock_step_ns=5e7"}},
                                                  120);
}

TEST(VirtualChain, NumbersThatWrapAreExplained) {
    simulate::expect_explained_with<VirtualChain>({{"wraps_after=1"}, {"wraps_after=50"}}, 120);
}

}  // namespace
}  // namespace anello::rich

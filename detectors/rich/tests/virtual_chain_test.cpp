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

}  // namespace
}  // namespace anello::rich

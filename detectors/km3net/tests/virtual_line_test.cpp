// SPDX-License-Identifier: Apache-2.0
#include "km3net/simulate/virtual_line.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/simulate/chain_seeds.hpp"

namespace anello::km3net {
namespace {

using simulate::first_of;

constexpr Nanoseconds ms = 1'000'000;

const std::vector<std::vector<std::string>> layouts{
    {"receive", "trigger", "store"}, {"receive+trigger", "store"}, {"receive+trigger+store"}};

/// A slice is passed on when its last trailer is there, whatever the layout of threads.
TEST(VirtualLine, WaitsForNoTimer) {
    for (const auto& layout : layouts) {
        const LineScenario scenario{.layout = layout, .stores = true};
        VirtualLine line(scenario);
        line.run();
        EXPECT_EQ(first_of(judge(line, scenario)), "");
        EXPECT_TRUE(line.finished());
        EXPECT_EQ(line.events().size(), scenario.n_slices);
        EXPECT_GT(line.n_found(), 0U);
        for (const VirtualLine::SliceRun& slice : line.events())
            EXPECT_LT(slice.passed_on_ns - slice.last_came_ns(), ms / 2) << "slice " << slice.number;
    }
}

TEST(VirtualLine, IsAFunctionOfItsSeed) {
    const auto digest = [](std::uint64_t seed) {
        VirtualLine line(VirtualLine::drawn(seed));
        line.run();
        return line.world().digest();
    };
    for (std::uint64_t seed = 1; seed < 10; ++seed) EXPECT_EQ(digest(seed), digest(seed)) << seed;
    EXPECT_NE(digest(1), digest(2));
}

TEST(VirtualLine, WhateverHappensIsExplained) {
    simulate::expect_all_explained<VirtualLine>("km3net_chain_seeds", 300);
}

}  // namespace
}  // namespace anello::km3net

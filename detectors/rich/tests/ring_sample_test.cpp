// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "rich/tests/rings/sample.hpp"

/// Tests of the samples on which ring finders are compared.
namespace {

using Positions = std::vector<std::pair<float, float>>;

/// The hits of each event, except events with few hits, which may be equal by chance.
std::set<Positions> events_of(std::uint64_t seed) {
    const rings::Sample sample = rings::simulate(rings::PmtLattice(), {}, seed, 300);
    std::set<Positions> events;
    for (std::uint32_t e = 0; e < sample.n_events(); ++e) {
        Positions hits;
        for (std::uint32_t i = sample.hit_offset[e]; i < sample.hit_offset[e + 1]; ++i)
            hits.emplace_back(sample.x_mm[i], sample.y_mm[i]);
        if (hits.size() > 3) events.insert(hits);
    }
    return events;
}

/// Seeds that begin only a few numbers apart in one sequence would give the same numbers after a while.
TEST(RingSample, SeedsNextToEachOtherShareNoEvent) {
    const std::set<Positions> first = events_of(7500);
    EXPECT_GT(first.size(), 200U);
    EXPECT_EQ(first, events_of(7500)) << "a seed says everything";
    for (const std::uint64_t seed : {7501U, 7502U, 7503U})
        for (const Positions& event : events_of(seed)) EXPECT_FALSE(first.contains(event)) << "seed " << seed;
}

}  // namespace

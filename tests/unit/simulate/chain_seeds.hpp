// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "effort.hpp"
#include "seed.hpp"
#include "simulate/virtual_chains.hpp"

namespace anello::simulate {

inline std::string first_of(const std::vector<std::string>& findings) {
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(findings.size(), 5); ++i) all += findings[i] + "\n";
    return all;
}

/// Tries the seeds that once were not explained, tests/cases/FOUND.txt, and some of n_seeds more. A failing seed is
/// shown by `anello simulate --chain NAME --replay SEED`.
template <typename Chain>
void expect_all_explained(const std::string& found, std::uint64_t n_seeds) {
    n_seeds = anello::test::some_of(n_seeds);
    const ChainsOf<Chain> chains;
    for (const auto& [seed, what] : anello::test::found_seeds(found))
        EXPECT_EQ(first_of(chains.run(seed, {}, 0).findings), "") << "seed " << seed << ", which found: " << what;
    const std::uint64_t first = anello::test::first_seed(n_seeds);
    const ChainTotals totals = search(chains, first, n_seeds, {});
    for (const std::uint64_t seed : totals.failed)
        ADD_FAILURE() << "seed " << seed << ": " << first_of(chains.run(seed, {}, 0).findings);
    std::cout << n_seeds << " chains, seeds from " << first << ", " << totals.n_events << " events\n";
}

/// Tries n_seeds seeds, some of them where time is short, each of them once with each of these sets of changes.
template <typename Chain>
void expect_explained_with(const std::vector<std::vector<std::string>>& sets, std::uint64_t n_seeds) {
    n_seeds = anello::test::some_of(n_seeds);
    const ChainsOf<Chain> chains;
    const std::uint64_t first = anello::test::first_seed(n_seeds);
    for (const std::vector<std::string>& changes : sets)
        for (const std::uint64_t seed : search(chains, first, n_seeds, changes).failed)
            ADD_FAILURE() << "seed " << seed << " with " << testing::PrintToString(changes) << ": "
                          << first_of(chains.run(seed, changes, 0).findings);
}

}  // namespace anello::simulate

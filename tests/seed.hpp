// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The seed of all tests that draw numbers: one number for all, so that a test has the same result each time.
namespace anello::test {

/// ANELLO_SEED, or 1. RapidCheck's properties begin with it, too (seed.cpp); of a test that fails it is printed.
std::uint64_t seed();
/// First seed of a test that tries n seeds: each ANELLO_SEED gives other ones.
inline std::uint64_t first_seed(std::uint64_t n) {
    return (seed() - 1) * n + 1;
}

/// A seed that once found a fault.
struct FoundSeed {
    std::uint64_t seed;
    std::string what;  ///< it found
};
/// Seeds of tests/cases/KIND.txt, "SEED  # what it found" in each line. Throws std::runtime_error.
std::vector<FoundSeed> found_seeds(const std::string& kind);

}  // namespace anello::test

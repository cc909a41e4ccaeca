// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Where tests have their dice from: one number for all of them, so that a test says the same each time.
namespace anello::test {

/// ANELLO_SEED, or 1. RapidCheck's properties begin with it, too (seed.cpp); of a test that fails it is printed.
std::uint64_t seed();
/// Where a test that tries n seeds begins: with each ANELLO_SEED others.
inline std::uint64_t first_seed(std::uint64_t n) {
    return (seed() - 1) * n + 1;
}

/// A seed that once found a fault.
struct FoundSeed {
    std::uint64_t seed;
    std::string what;  ///< it found
};
/// Those of tests/cases/KIND.txt, "SEED  # what it found" in each line. Throws std::runtime_error.
std::vector<FoundSeed> found_seeds(const std::string& kind);

}  // namespace anello::test

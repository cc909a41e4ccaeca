// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

/// For tests of chains in virtual time: which seeds, and what is told of findings.
namespace anello::simulate {

struct ChainSeeds {
    std::uint64_t first, n;
};

/// New ones; or ANELLO_CHAIN_SEEDS=FIRST:N. Throws std::invalid_argument.
inline ChainSeeds chain_seeds(std::uint64_t n_usually) {
    const char* const wanted = std::getenv("ANELLO_CHAIN_SEEDS");
    if (wanted == nullptr) return {std::random_device{}(), n_usually};
    std::size_t n_read = 0;
    const std::uint64_t first = std::stoull(wanted, &n_read);
    return {first, std::stoull(wanted + n_read + 1)};
}

inline std::string first_of(const std::vector<std::string>& findings) {
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(findings.size(), 5); ++i) all += findings[i] + "\n";
    return all;
}

}  // namespace anello::simulate

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/words.hpp"

namespace anello {

inline constexpr std::uint64_t default_seed = 1;

/// run.seed, the seed of all random numbers.
struct SeedConfig {
    std::uint64_t seed = default_seed;
};
extern const Keys<SeedConfig> seed_keys;

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#include "core/seed.hpp"

#include <array>

#include "core/keys.hpp"

namespace anello {
namespace {

constexpr std::array rows{
    Key<SeedConfig>::of<&SeedConfig::seed>("seed", {0, 0x1p63}, "Seed of all random numbers: same seed, same bytes."),
};

}  // namespace

constinit const Keys<SeedConfig> seed_keys{"run", "The run as a whole.", rows};

}  // namespace anello

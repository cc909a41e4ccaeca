// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "rich/tests/rings/sample.hpp"

namespace rings {

/// Events of the simulated NA62 RICH with its own yield (docs/reference/rich-simulation.md), as they reach the finder:
/// in the fit frame, hits and tracks in time. n_rings: tracks in time; -1: the mix.
Sample simulate_na62(int n_rings, std::uint64_t seed, int n_events);

}  // namespace rings

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/farm/simulated_farm.hpp"

namespace anello::simulate {

/// A run that has ended.
struct FarmRun {
    FarmScenario scenario;
    std::vector<FaultTimes> fault_times;
    std::vector<std::string> findings;            ///< findings of the oracle; none: all is explained
    std::uint64_t n_built = 0, n_incomplete = 0;  ///< multi-event packets
    std::uint64_t n_fragments = 0;                ///< in the packets
    std::uint64_t n_events = 0;                   ///< events of the world
    std::uint64_t digest = 0;                     ///< of all events of the run
    Nanoseconds virtual_ns = 0;
};

/// Throws ConfigError if the scenario is invalid.
FarmRun run(const FarmScenario& scenario);

struct Totals {
    std::uint64_t n_runs = 0, n_faults = 0, n_built = 0, n_incomplete = 0, n_fragments = 0, n_events = 0;
    std::uint64_t digest = 0;
    Nanoseconds virtual_ns = 0;
    std::vector<std::uint64_t> failed;  ///< seeds
};
/// One run for each of `n_seeds` seeds, starting with `first`.
Totals search(std::uint64_t first, std::uint64_t n_seeds, const Draw& limits);

/// Finds a smaller scenario with the same failure. Returns assignments (scenario_keys.hpp) that, applied one after
/// another, give a scenario that still fails with the same finding. Empty if the scenario does not fail.
std::vector<std::string> reduce(const FarmScenario& scenario);

}  // namespace anello::simulate

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "simulate/farm/simulated_farm.hpp"
#include "simulate/trace_line.hpp"

namespace anello::simulate {

/// Runs the farm to its end, and returns its events in the order of time, with at most the last `max_messages`
/// messages.
std::vector<TraceLine> run_traced(SimulatedFarm& farm, std::size_t max_messages);

}  // namespace anello::simulate

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "simulate/farm/simulated_farm.hpp"

namespace anello::simulate {

/// What is wrong with a run that has ended, one line each, by what was to be made, which faults happened, and what
/// came out; the farm's own counters are only what is compared with that. Empty: all is explained.
std::vector<std::string> judge(const SimulatedFarm& farm);

}  // namespace anello::simulate

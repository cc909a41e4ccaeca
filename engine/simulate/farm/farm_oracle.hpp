// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "simulate/farm/simulated_farm.hpp"

namespace anello::simulate {

/// Judges a run that has ended by its input, its faults and its output; the farm's own counters are only compared with
/// these. Returns its findings, one line each; none: all is explained.
std::vector<std::string> judge(const SimulatedFarm& farm);

}  // namespace anello::simulate

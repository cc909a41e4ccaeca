// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulate/farm/farm_scenario.hpp"

namespace anello::simulate {

/// "n_meps=20" sets the quantity of this name in a scenario. "faults=0,2" keeps these of its faults, "faults=" none.
/// Throws ConfigError if there is no such name, or if the value is invalid.
void set(FarmScenario& scenario, std::string_view assignment);
std::vector<std::string> scenario_key_names();

}  // namespace anello::simulate

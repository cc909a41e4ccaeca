// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulate/farm/farm_scenario.hpp"

namespace anello::simulate {

/// "n_meps=20": sets what a scenario has under this name. "faults=0,2" keeps these of its faults, "faults=" none.
/// Throws ConfigError where there is no such name, or the value is none of its.
void set(FarmScenario& scenario, std::string_view assignment);
std::vector<std::string> scenario_key_names();

}  // namespace anello::simulate

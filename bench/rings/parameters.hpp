// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rich/rings/ring_finder.hpp"

namespace rings {

/// Sets one parameter by name, as in "multiring.groups=3" or "single.window_mm.2=20". Throws ConfigError.
void set_parameter(anello::rich::RingFinderConfig& config, const std::string& assignment);

}  // namespace rings

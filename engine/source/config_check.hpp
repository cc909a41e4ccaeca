// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "core/errors.hpp"

namespace anello::source {

/// For set-up only. It also refuses NaN.
inline void check_range(const char* field, double given, double least, double greatest) {
    if (given >= least && given <= greatest) return;
    throw ConfigError(field, fmt::format("must be {} to {}", least, greatest), fmt::format("{}", given),
                      "Choose a value in this range");
}

}  // namespace anello::source

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.hpp"

namespace anello::simulate {

/// Something that happened in a run; times are virtual, since its begin.
struct TraceLine {
    /// fault, process, link, built: in a lane (a node; of a chain a board, or its end); message: from a lane to another
    /// one.
    std::string kind;
    Nanoseconds at_ns = 0, until_ns = 0;
    std::uint16_t node = 0, other = 0;
    std::string text;
};

}  // namespace anello::simulate

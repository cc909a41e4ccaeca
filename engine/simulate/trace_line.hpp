// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.hpp"

namespace anello::simulate {

/// An event of a run; times are virtual, since the begin of the run.
struct TraceLine {
    /// fault, process, link, built: in a lane (a node; for a chain a board, or the chain's end); message: from one lane
    /// to another.
    std::string kind;
    Nanoseconds at_ns = 0, until_ns = 0;
    std::uint16_t node = 0, other = 0;
    std::string text;
};

}  // namespace anello::simulate

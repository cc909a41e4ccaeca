// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "simulate/simulated_farm.hpp"

namespace anello::simulate {

/// Something that happened in a run; times are virtual, since its begin.
struct TraceLine {
    /// fault, process, link, built: at a node; message: from a node to another one.
    std::string kind;
    Nanoseconds at_ns = 0, until_ns = 0;
    Node node = 0, other = 0;
    std::string text;
};

/// Runs the farm to its end, and tells what happened, in the order of time; messages up to `max_messages`, the last
/// ones.
std::vector<TraceLine> run_traced(SimulatedFarm& farm, std::size_t max_messages);

}  // namespace anello::simulate

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <vector>

#include "simulate/trace_line.hpp"

namespace anello::bindings {

inline nanobind::list trace_of(const std::vector<simulate::TraceLine>& lines) {
    nanobind::list result;
    for (const simulate::TraceLine& line : lines)
        result.append(nanobind::make_tuple(line.kind, line.at_ns, line.until_ns, line.node, line.other, line.text));
    return result;
}

}  // namespace anello::bindings

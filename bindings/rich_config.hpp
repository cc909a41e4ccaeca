// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "pipeline/node_config.hpp"
#include "python_plugin.hpp"

namespace anello::bindings {

/// Of the RICH's chain, by dotted key. `memory`: of batches that a Python trigger looks at.
pipeline::NodeConfig rich_node_config(const nanobind::dict& values, const BatchMemory& memory);

}  // namespace anello::bindings

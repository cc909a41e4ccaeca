// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "rich/bindings/python_plugin.hpp"
#include "rich/chain/node_config.hpp"

namespace anello::rich {

/// By dotted key. `memory`: of batches that a Python trigger looks at.
NodeConfig node_config(const nanobind::dict& values, const BatchMemory& memory);

}  // namespace anello::rich

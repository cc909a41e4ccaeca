// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "rich/bindings/python_plugin.hpp"
#include "rich/chain/node_config.hpp"

namespace anello::rich {

/// Makes the configuration from values by dotted key. `memory` owns the batches that a Python trigger reads.
NodeConfig node_config(const nanobind::dict& values, const BatchMemory& memory);

}  // namespace anello::rich

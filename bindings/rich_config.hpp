// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "pipeline/exchange_node_config.hpp"
#include "pipeline/node_config.hpp"
#include "python_plugin.hpp"

namespace anello::bindings {

/// Of the RICH's chain, by dotted key. `memory`: of batches that a Python trigger looks at.
pipeline::NodeConfig rich_node_config(const nanobind::dict& values, const BatchMemory& memory);

/// The RICH before (from = "rich") and behind (to = "trigger") a node of the exchange; `values` as
/// anello.exchange.running.engine_values makes them.
void take_rich_ends(const nanobind::dict& values, pipeline::ExchangeNodeConfig& config);

}  // namespace anello::bindings

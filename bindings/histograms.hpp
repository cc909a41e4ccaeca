// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "core/histogram.hpp"

namespace anello::bindings {

/// count, mean_ns, p50_ns ... p9999_ns, max_ns, above_1ms, and the bins: bins_ns (edges), bin_counts.
nanobind::dict latency_of(const LatencyHistogram& histogram);
/// By name of the leg.
nanobind::dict latency_of(const std::map<std::string, const LatencyHistogram*>& legs);

}  // namespace anello::bindings

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "core/latency/histogram.hpp"
#include "pipeline/machine_probe.hpp"

namespace anello::bindings {

/// count, mean_ns, p50_ns ... p9999_ns, max_ns, above_1ms, and the bins: bins_ns (edges), bin_counts.
nanobind::dict latency_of(const LatencyHistogram& histogram);
/// By the name of the leg.
nanobind::dict latency_of(const std::map<std::string, const LatencyHistogram*>& legs);
/// begin_ns (wall clock) and bin_ns; and for each bin count, sum_ns, max_ns, n_late.
nanobind::dict over_time(const LatencySeries& series);
nanobind::dict over_time(const pipeline::LatenciesOverTime& legs);
/// For each core: delays, as latency_of; over_time; is_on_the_way, is_realtime.
nanobind::dict hiccups_of(const pipeline::MachineProbe& probe);

}  // namespace anello::bindings

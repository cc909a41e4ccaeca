// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>

#include "simulate/farm/farm_scenario.hpp"

namespace anello::simulate {

/// Load of all links of one kind, within the window.
struct LinksOfAKind {
    std::size_t n_links = 0;
    double load_mean = 0, load_max = 0;        ///< fraction of their rate
    double stalled_mean = 0, stalled_max = 0;  ///< fraction of the time with data to send and no room for it
    std::size_t most_bytes = 0;                ///< in the fullest buffer at their end, since the begin
};

/// The load of a farm in the time window from the arrival of the fraction `window_begin` of all MFPs at their builders
/// to that of `window_end`; then the farm is stopped.
struct FarmLoad {
    static constexpr double window_begin = 0.25, window_end = 0.75;
    Nanoseconds window_ns = 0, virtual_ns = 0;
    std::uint64_t n_built = 0, n_incomplete = 0, n_events = 0;  ///< MEPs; events of the simulation
    std::uint64_t n_mfps_in_window = 0;                         ///< MFPs that arrived at their builders
    std::array<LinksOfAKind, 4> links;                          ///< by LinkKind; zero without switches
    std::array<double, 4> ready_to_built_us{};  ///< p50, p99, p99.9, max, from the first part being ready
    /// most MFPs that a readout unit held; most MEPs that a builder had open
    std::uint32_t most_mfps = 0, most_meps = 0;
    Nanoseconds behind_ns = 0;                             ///< longest delay of a source for lack of room
    double busy_mean = 0, busy_max = 0, busy_manager = 0;  ///< fraction of the time in which nodes' processes ran
    std::uint64_t n_overruled = 0;                         ///< messages for which the step barrier was overruled
    bool is_stuck = false;                                 ///< the run took longer than the scenario's limit
};

/// Runs until the window is over. It calls `progress` repeatedly with the fraction that is done, and stops if that
/// returns false. Throws ConfigError.
FarmLoad measure(const FarmScenario& scenario, const std::function<bool(double)>& progress);

}  // namespace anello::simulate

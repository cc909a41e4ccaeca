// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>

#include "simulate/farm/farm_scenario.hpp"

namespace anello::simulate {

/// Of all links of a kind, within the window.
struct LinksOfAKind {
    std::size_t n_links = 0;
    double load_mean = 0, load_max = 0;        ///< share of their rate
    double stalled_mean = 0, stalled_max = 0;  ///< share of the time with something to send and no room for it
    std::size_t most_bytes = 0;                ///< in the fullest buffer at their end, since the begin
};

/// What a farm carries, from when `window_begin` of all MFPs are at their builders until `window_end` are; then it is
/// stopped.
struct FarmLoad {
    static constexpr double window_begin = 0.25, window_end = 0.75;
    Nanoseconds window_ns = 0, virtual_ns = 0;
    std::uint64_t n_built = 0, n_incomplete = 0, n_events = 0;  ///< MEPs; of the simulation
    std::uint64_t n_mfps_in_window = 0;                         ///< that came to their builders
    std::array<LinksOfAKind, 4> links;                          ///< by LinkKind; none where there are no switches
    std::array<double, 4> ready_to_built_us{};             ///< p50, p99, p99.9, max, from the first part being ready
    std::uint32_t most_mfps = 0, most_meps = 0;            ///< that a readout unit held; that a builder had open
    Nanoseconds behind_ns = 0;                             ///< by which a source was late, for want of room
    double busy_mean = 0, busy_max = 0, busy_manager = 0;  ///< share of the time that nodes' processes ran
    std::uint64_t n_overruled = 0;                         ///< messages for which the step barrier was
    bool is_stuck = false;                                 ///< it took longer than the scenario's limit
};

/// Runs until the window is over. `progress` is called now and then with the share of it that is done; false: stop.
/// Throws ConfigError.
FarmLoad measure(const FarmScenario& scenario, const std::function<bool(double)>& progress);

}  // namespace anello::simulate

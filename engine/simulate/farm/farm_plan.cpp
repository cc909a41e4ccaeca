// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/farm_plan.hpp"

#include <algorithm>
#include <vector>

#include "core/latency/histogram.hpp"
#include "simulate/farm/simulated_farm.hpp"

namespace anello::simulate {
namespace {

constexpr int events_per_look = 20;  ///< for each node

/// All rising counters, at one time.
struct Sums {
    Nanoseconds at_ns = 0;
    std::uint64_t n_built = 0, n_mfps = 0;
    std::vector<LinkLoad> links;
    std::vector<Nanoseconds> busy_ns;
};

/// Sum over all builders.
std::uint64_t sum_of(const SimulatedFarm& farm, exchange::BuilderCounter counter) {
    std::uint64_t sum = 0;
    for (const auto& host : farm.hosts()) {
        if (host->processes().empty()) continue;
        const exchange::BuilderUnit* const builder = host->process().station().builder();
        if (builder != nullptr) sum += builder->counters()[counter];
    }
    return sum;
}

std::uint64_t n_mfps(const SimulatedFarm& farm) {
    return sum_of(farm, exchange::BuilderCounter::mfps_received);
}

Sums sums_of(const SimulatedFarm& farm) {
    Sums sums{.at_ns = farm.world().monotonic_ns(),
              .n_built = sum_of(farm, exchange::BuilderCounter::meps_complete) +
                         sum_of(farm, exchange::BuilderCounter::meps_incomplete),
              .n_mfps = n_mfps(farm),
              .links = farm.network().loads(),
              .busy_ns = {}};
    for (const auto& host : farm.hosts()) sums.busy_ns.push_back(host->busy_ns());
    return sums;
}

void add_links(FarmLoad& load, const Sums& begin, const Sums& end) {
    const auto window_ns = static_cast<double>(load.window_ns);
    for (std::size_t i = 0; i < end.links.size(); ++i) {
        const LinkLoad &link = end.links[i], &before = begin.links[i];
        LinksOfAKind& kind = load.links[static_cast<std::size_t>(link.kind)];
        const double used = static_cast<double>(link.n_bytes - before.n_bytes) * 8 / link.gbps / window_ns;
        const double stalled = static_cast<double>(link.stalled_ns - before.stalled_ns) / window_ns;
        ++kind.n_links;
        kind.load_mean += used;
        kind.stalled_mean += stalled;
        kind.load_max = std::max(kind.load_max, used);
        kind.stalled_max = std::max(kind.stalled_max, stalled);
        kind.most_bytes = std::max(kind.most_bytes, link.most_bytes);
    }
    for (LinksOfAKind& kind : load.links) {
        kind.load_mean /= static_cast<double>(std::max<std::size_t>(1, kind.n_links));
        kind.stalled_mean /= static_cast<double>(std::max<std::size_t>(1, kind.n_links));
    }
}

void add_hosts(FarmLoad& load, const Sums& begin, const Sums& end, const SimulatedFarm& farm) {
    for (std::size_t node = 0; node < end.busy_ns.size(); ++node) {
        const double busy =
            static_cast<double>(end.busy_ns[node] - begin.busy_ns[node]) / static_cast<double>(load.window_ns);
        load.busy_mean += busy / static_cast<double>(end.busy_ns.size());
        load.busy_max = std::max(load.busy_max, busy);
        if (farm.hosts()[node]->process().station().manager() != nullptr) load.busy_manager = busy;
    }
}

void add_nodes(FarmLoad& load, const SimulatedFarm& farm) {
    LatencyHistogram latency;
    for (const auto& host : farm.hosts()) {
        const FarmProcess& process = host->process();
        load.most_mfps = std::max(load.most_mfps, process.most_mfps());
        load.most_meps = std::max(load.most_meps, process.most_meps());
        load.behind_ns =
            std::max(load.behind_ns, static_cast<Nanoseconds>(process.count("generator", "behind_ns_max")));
        load.n_overruled += process.count("readout", "barriers_overruled");
        if (process.station().builder() != nullptr)
            latency.merge(process.station().builder()->output().ready_to_built());
    }
    constexpr std::array shares{0.5, 0.99, 0.999, 1.0};
    for (std::size_t i = 0; i < shares.size() && latency.count() > 0; ++i)
        load.ready_to_built_us[i] = static_cast<double>(latency.quantile_ns(shares[i])) * 1e-3;
}

}  // namespace

FarmLoad measure(const FarmScenario& scenario, const std::function<bool(double)>& progress) {
    SimulatedFarm farm(scenario);
    FarmLoad load;
    const exchange::Farm roles = exchange::parse_roles(scenario.roles, scenario.n_nodes);
    const double n_all = static_cast<double>(scenario.n_meps) * static_cast<double>(roles.readouts.size());
    const Nanoseconds limit_ns = World::begin_ns + scenario.limit_ns();
    const int n_events = events_per_look * scenario.n_nodes;
    Sums begin, end;
    for (bool is_over = false; !is_over;) {
        bool has_more = true;
        for (int i = 0; i < n_events && has_more; ++i) has_more = farm.world().step();
        const double done = static_cast<double>(n_mfps(farm)) / n_all;
        const bool has_stopped = !has_more || farm.world().monotonic_ns() > limit_ns;
        load.is_stuck = has_stopped && done < FarmLoad::window_end;
        if (begin.at_ns == 0 && done >= FarmLoad::window_begin) begin = sums_of(farm);
        is_over =
            done >= FarmLoad::window_end || load.is_stuck || !progress(std::min(1.0, done / FarmLoad::window_end));
    }
    end = sums_of(farm);
    if (begin.at_ns == 0) begin = end;
    load.window_ns = std::max<Nanoseconds>(1, end.at_ns - begin.at_ns);
    load.virtual_ns = end.at_ns - World::begin_ns;
    load.n_built = end.n_built;
    load.n_incomplete = sum_of(farm, exchange::BuilderCounter::meps_incomplete);
    load.n_mfps_in_window = end.n_mfps - begin.n_mfps;
    load.n_events = farm.world().n_events();
    add_links(load, begin, end);
    add_hosts(load, begin, end, farm);
    add_nodes(load, farm);
    return load;
}

}  // namespace anello::simulate

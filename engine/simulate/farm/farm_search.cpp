// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/farm_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/errors.hpp"
#include "simulate/farm/farm_oracle.hpp"
#include "simulate/finding.hpp"
#include "simulate/scenario_keys.hpp"

namespace anello::simulate {
namespace {

std::vector<std::string> kinds_of(const FarmScenario& scenario) {
    std::vector<std::string> kinds;
    for (const std::string& finding : run(scenario).findings) kinds.push_back(kind_of(finding));
    return kinds;
}

class Reduction {
  public:
    explicit Reduction(const FarmScenario& scenario) : scenario_(scenario) {
        const std::vector<std::string> kinds = kinds_of(scenario);
        if (!kinds.empty()) kind_ = kinds.front();
    }
    std::vector<std::string> made() {
        if (kind_.empty()) return {};
        for (bool found = true; found;) {
            found = drop_a_fault() || try_numbers();
        }
        return std::move(made_);
    }

  private:
    bool try_one(const std::string& assignment) {
        FarmScenario smaller = scenario_;
        try {
            set(smaller, assignment);
            const std::vector<std::string> kinds = kinds_of(smaller);
            if (std::ranges::find(kinds, kind_) == kinds.end()) return false;
        } catch (const ConfigError&) {
            return false;
        }
        scenario_ = std::move(smaller);
        made_.push_back(assignment);
        return true;
    }

    bool drop_a_fault() {
        for (std::size_t dropped = 0; dropped < scenario_.faults.size(); ++dropped) {
            std::vector<std::size_t> kept;
            for (std::size_t i = 0; i < scenario_.faults.size(); ++i)
                if (i != dropped) kept.push_back(i);
            if (try_one(fmt::format("faults={}", fmt::join(kept, ",")))) return true;
        }
        return false;
    }

    bool try_numbers() {
        const auto to = [this](const char* name, auto now, auto wanted) {
            return now != wanted && try_one(fmt::format("{}={}", name, wanted));
        };
        bool found = scenario_.n_nodes > 1 && try_one(fmt::format("n_nodes={}", scenario_.n_nodes - 1));
        found |= scenario_.n_meps > 1 && try_one(fmt::format("n_meps={}", scenario_.n_meps / 2));
        found |= to("packing", scenario_.packing, 1U);
        found |= to("jitter_ns", scenario_.network.jitter_ns, 0);
        found |= to("loss", scenario_.network.loss, 0.0);
        found |= to("duplicate", scenario_.network.duplicate, 0.0);
        found |= to("preemption", scenario_.preemption, 0.0);
        found |= to("sink_holds_ns", scenario_.sink_holds_ns, 0);
        found |= to("start_spread_ns", scenario_.start_spread_ns, 0);
        found |= to("told_ns", scenario_.told_ns, 0);
        return found;
    }

    FarmScenario scenario_;
    std::string kind_;
    std::vector<std::string> made_;
};

}  // namespace

FarmRun run(const FarmScenario& scenario) {
    SimulatedFarm farm(scenario);
    farm.run();
    FarmRun run{.scenario = scenario, .fault_times = farm.fault_times(), .findings = judge(farm)};
    for (const auto& host : farm.hosts())
        for (const auto& process : host->processes()) {
            if (process->sink() == nullptr) continue;
            const std::size_t n_sources = process->station().farm().readouts.size();
            for (const Built& built : process->sink()->built()) {
                ++run.n_built;
                run.n_incomplete += built.missing.empty() ? 0 : 1;
                run.n_fragments += (n_sources - built.missing.size()) * scenario.packing;
            }
        }
    run.n_events = farm.world().n_events();
    run.digest = farm.world().digest();
    run.virtual_ns = farm.world().monotonic_ns() - World::begin_ns;
    return run;
}

Totals search(std::uint64_t first, std::uint64_t n_seeds, const Draw& limits) {
    Totals totals;
    for (std::uint64_t seed = first; seed != first + n_seeds; ++seed) {
        const FarmRun one = run(draw(seed, limits));
        ++totals.n_runs;
        totals.n_faults += static_cast<std::uint64_t>(
            std::ranges::count_if(one.fault_times, [](const FaultTimes& times) { return times.happened; }));
        totals.n_built += one.n_built;
        totals.n_incomplete += one.n_incomplete;
        totals.n_fragments += one.n_fragments;
        totals.n_events += one.n_events;
        totals.virtual_ns += one.virtual_ns;
        totals.digest = source::mix64(totals.digest + one.digest);
        if (!one.findings.empty()) totals.failed.push_back(seed);
    }
    return totals;
}

std::vector<std::string> reduce(const FarmScenario& scenario) {
    return Reduction(scenario).made();
}

}  // namespace anello::simulate

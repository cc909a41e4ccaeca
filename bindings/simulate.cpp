// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/words.hpp"
#include "counters.hpp"
#include "exchange_account.hpp"
#include "module.hpp"
#include "simulate/farm/farm_oracle.hpp"
#include "simulate/farm/farm_plan.hpp"
#include "simulate/farm/farm_search.hpp"
#include "simulate/farm/farm_trace.hpp"
#include "simulate/scenario_keys.hpp"
#include "simulate/virtual_chains.hpp"
#include "trace.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

using simulate::Draw;

Draw draw_of(const std::vector<std::string>& kinds, std::uint16_t max_nodes, std::uint32_t max_faults,
             const std::vector<std::string>& settings) {
    Draw limits{.max_nodes = max_nodes, .kinds = {}, .max_faults = max_faults, .set = settings};
    for (const std::string& kind : kinds) limits.kinds.push_back(parse_word<simulate::FaultKind>(kind, "--faults"));
    return limits;
}

nb::dict told(const simulate::Totals& totals) {
    nb::dict result;
    result["runs"] = totals.n_runs;
    result["faults"] = totals.n_faults;
    result["built"] = totals.n_built;
    result["incomplete"] = totals.n_incomplete;
    result["fragments"] = totals.n_fragments;
    result["events"] = totals.n_events;
    result["virtual_s"] = static_cast<double>(totals.virtual_ns) * 1e-9;
    result["digest"] = totals.digest;
    result["failed"] = totals.failed;
    return result;
}

simulate::FarmScenario scenario_of(std::uint64_t seed, const Draw& limits, const std::vector<std::string>& changes) {
    simulate::FarmScenario scenario = simulate::draw(seed, limits);
    for (const std::string& change : changes) simulate::set(scenario, change);
    return scenario;
}

std::vector<std::string> lanes_of(const simulate::FarmScenario& scenario) {
    std::vector<std::string> lanes;
    for (simulate::Node node = 0; node < scenario.n_nodes; ++node) lanes.push_back("node " + std::to_string(node));
    return lanes;
}

nb::dict replay(std::uint64_t seed, const Draw& limits, const std::vector<std::string>& changes,
                std::size_t max_messages) {
    const simulate::FarmScenario scenario = scenario_of(seed, limits, changes);
    std::vector<std::string> faults;
    for (const simulate::Fault& fault : scenario.faults) faults.push_back(fault.describe());
    simulate::SimulatedFarm farm(scenario);
    const std::vector<simulate::TraceLine> lines = simulate::run_traced(farm, max_messages);
    nb::dict result;
    result["scenario"] = scenario.describe();
    result["lanes"] = lanes_of(scenario);
    result["faults"] = faults;
    result["findings"] = simulate::judge(farm);
    result["trace"] = trace_of(lines);
    result["digest"] = farm.world().digest();
    return result;
}

/// The record of each process; a node that died has none.
nb::list books_of(const simulate::SimulatedFarm& farm) {
    nb::list books;
    for (simulate::Node node = 0; node < farm.hosts().size(); ++node)
        for (const auto& process : farm.hosts()[node]->processes()) {
            if (!process->has_record()) continue;
            nb::dict book;
            book["rank"] = node;
            book["has_left"] = !process->station().finished();
            book["counters"] = values_of(process->page().read());
            book["account"] = dict_of(exchange::account_of(process->station()));
            books.append(book);
        }
    return books;
}

std::vector<simulate::Node> ranks_without_record(const simulate::SimulatedFarm& farm) {
    std::vector<simulate::Node> ranks;
    for (simulate::Node node = 0; node < farm.hosts().size(); ++node)
        for (const auto& process : farm.hosts()[node]->processes())
            if (!process->has_record()) ranks.push_back(node);
    return ranks;
}

/// True if a standby took over and died, since the reports of builders to it are lost with it.
bool are_books_lost(const simulate::SimulatedFarm& farm) {
    for (const auto& host : farm.hosts())
        for (const auto& process : host->processes()) {
            const auto* manager = process->station().manager();
            if (!process->has_record() && manager != nullptr && manager->has_taken_over()) return true;
        }
    return false;
}

nb::dict books(std::uint64_t seed, const Draw& limits, const std::vector<std::string>& changes) {
    const simulate::FarmScenario scenario = scenario_of(seed, limits, changes);
    simulate::SimulatedFarm farm(scenario);
    farm.run();
    nb::dict result;
    result["roles"] = scenario.roles;
    result["nodes"] = scenario.n_nodes;
    result["may_lose"] = !scenario.network.reliable;
    result["books"] = books_of(farm);
    result["died"] = ranks_without_record(farm);
    result["books_lost"] = are_books_lost(farm);
    return result;
}

nb::dict told(const simulate::FarmLoad& load) {
    nb::dict links;
    for (std::size_t i = 0; i < load.links.size(); ++i) {
        const simulate::LinksOfAKind& kind = load.links[i];
        if (kind.n_links == 0) continue;
        nb::dict of_kind;
        of_kind["load_mean"] = kind.load_mean;
        of_kind["load_max"] = kind.load_max;
        of_kind["stalled_mean"] = kind.stalled_mean;
        of_kind["stalled_max"] = kind.stalled_max;
        of_kind["most_bytes"] = kind.most_bytes;
        links[word_of(static_cast<simulate::LinkKind>(i))] = of_kind;
    }
    nb::dict result;
    result["links"] = links;
    result["window_ns"] = load.window_ns;
    result["virtual_ns"] = load.virtual_ns;
    result["n_built"] = load.n_built;
    result["n_incomplete"] = load.n_incomplete;
    result["n_mfps_in_window"] = load.n_mfps_in_window;
    result["n_events"] = load.n_events;
    result["ready_to_built_us"] = std::vector<double>(load.ready_to_built_us.begin(), load.ready_to_built_us.end());
    result["most_mfps"] = load.most_mfps;
    result["most_meps"] = load.most_meps;
    result["behind_ns"] = load.behind_ns;
    result["busy_mean"] = load.busy_mean;
    result["busy_max"] = load.busy_max;
    result["busy_manager"] = load.busy_manager;
    result["n_overruled"] = load.n_overruled;
    result["is_stuck"] = load.is_stuck;
    return result;
}

nb::dict measure(const std::vector<std::string>& settings, const std::function<bool(double)>& progress) {
    simulate::FarmScenario scenario;
    for (const std::string& assignment : settings) simulate::set(scenario, assignment);
    const auto look = [&](double share) {
        const nb::gil_scoped_acquire held;
        return progress(share);
    };
    const auto measured = [&] {
        const nb::gil_scoped_release released;
        return simulate::measure(scenario, look);
    };
    return told(measured());
}

}  // namespace

void bind_simulate(nb::module_& module) {
    nb::class_<Draw>(module, "FarmDraw")
        .def("__init__",
             [](Draw* self, const std::vector<std::string>& kinds, std::uint16_t max_nodes, std::uint32_t max_faults,
                const std::vector<std::string>& settings) {
                 new (self) Draw(draw_of(kinds, max_nodes, max_faults, settings));
             })
        .def("search",
             [](const Draw& self, std::uint64_t first, std::uint64_t n_seeds) {
                 simulate::Totals totals;
                 {
                     const nb::gil_scoped_release released;
                     totals = simulate::search(first, n_seeds, self);
                 }
                 return told(totals);
             })
        .def("reduce",
             [](const Draw& self, std::uint64_t seed) { return simulate::reduce(simulate::draw(seed, self)); })
        .def("books", [](const Draw& self, std::uint64_t seed,
                         const std::vector<std::string>& changes) { return books(seed, self, changes); })
        .def("replay", [](const Draw& self, std::uint64_t seed, const std::vector<std::string>& changes,
                          std::size_t max_messages) { return replay(seed, self, changes, max_messages); });
    module.def("measure_farm", &measure);
    module.def("farm_fault_kinds", [] {
        const auto& words = words_of<simulate::FaultKind>;
        return std::vector<std::string>(words.begin(), words.end());
    });
    module.def("chain_trouble_kinds", [] {
        std::vector<std::string> names;
        for (const simulate::TroubleKind& kind : simulate::trouble_kinds) names.emplace_back(kind.name);
        return names;
    });
    module.def("chain_troubles_only", &simulate::only);
    module.def("farm_scenario_keys", &simulate::scenario_key_names);
}

}  // namespace anello::bindings

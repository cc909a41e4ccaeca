// SPDX-License-Identifier: Apache-2.0
#include "virtual_chains.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "counters.hpp"
#include "sequences.hpp"
#include "trace.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

using Assignments = std::vector<std::string>;

nb::dict told(const simulate::ChainTotals& totals) {
    nb::dict result;
    result["runs"] = totals.n_runs;
    result["faults"] = totals.n_troubles;
    result["events"] = totals.n_events;
    result["decided"] = totals.n_decided;
    result["virtual_s"] = static_cast<double>(totals.virtual_ns) * 1e-9;
    result["digest"] = totals.digest;
    result["failed"] = totals.failed;
    return result;
}

nb::dict told(const simulate::ChainRun& run) {
    nb::dict result;
    result["scenario"] = run.scenario;
    result["lanes"] = run.lanes;
    result["faults"] = run.troubles;
    result["findings"] = run.findings;
    result["trace"] = trace_of(run.trace);
    result["digest"] = run.digest;
    return result;
}

template <typename Log>
nb::dict by_board(const std::vector<Log>& logs) {
    nb::dict result;
    for (std::size_t board = 0; board < logs.size(); ++board) result[nb::int_(board)] = dict_of(logs[board]);
    return result;
}

}  // namespace

void bind_virtual_chains(nb::module_& module, const simulate::VirtualChains& chains) {
    module.def("virtual_search", [&chains](std::uint64_t first, std::uint64_t n_seeds, const Assignments& changes) {
        simulate::ChainTotals totals;
        {
            const nb::gil_scoped_release released;
            totals = simulate::search(chains, first, n_seeds, changes);
        }
        return told(totals);
    });
    module.def("virtual_reduce", [&chains](std::uint64_t seed, const Assignments& changes) {
        return simulate::reduce(chains, seed, changes);
    });
    module.def("virtual_replay", [&chains](std::uint64_t seed, const Assignments& changes, std::size_t max_messages) {
        return told(chains.run(seed, changes, max_messages));
    });
    module.def("virtual_books", [&chains](std::uint64_t seed, const Assignments& changes) {
        const simulate::ChainBooks books = chains.books(seed, changes);
        nb::dict result;
        result["has_ended"] = books.has_ended;
        result["node"] = values_of(books.node);
        result["source"] = values_of(books.source);
        result["made"] = by_board(books.made);
        nb::dict came = by_board(books.came);
        for (std::size_t board = 0; board < books.unused.size(); ++board) {
            nb::dict one = nb::cast<nb::dict>(came[nb::int_(board)]);
            one["unused"] = lists_of(books.unused[board]);
        }
        result["came"] = came;
        return result;
    });
}

}  // namespace anello::bindings

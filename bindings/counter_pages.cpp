// SPDX-License-Identifier: Apache-2.0
// Counter pages of other processes as dictionaries; anello/counters/pages.py describes their content.
#include <nanobind/stl/string.h>

#include "core/counters/page_reader.hpp"
#include "counters.hpp"
#include "histograms.hpp"
#include "module.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

nb::dict header_of(const PageReader& page) {
    const PageReader::Header header = page.header();
    nb::dict result;
    result["process"] = header.owner.process;
    result["runs"] = still_runs(header.owner);
    result["started_ns"] = header.started_ns;
    result["run_number"] = header.run_number;
    result["run_name"] = header.run_name;
    result["chain"] = header.chain;
    result["state"] = header.state;
    result["config_digest"] = header.config_digest;
    result["heartbeat_ns"] = header.heartbeat_ns;
    result["control_ns"] = header.control_ns;
    return result;
}

nb::list cells_of(const PageReader& page) {
    nb::list result;
    for (const CounterPage::Sample& cell : page.cells())
        result.append(nb::make_tuple(cell.block, cell.name, word_of(cell.type.kind), word_of(cell.type.unit),
                                     cell.meaning, cell.value));
    return result;
}

nb::dict latency_of_page(const PageReader& page) {
    nb::dict result;
    for (const PageReader::Leg& leg : page.legs()) {
        nb::dict windows;
        windows["run"] = latency_of(*leg.run);
        windows["10s"] = latency_of(*leg.last_10s);
        windows["1s"] = latency_of(*leg.last_1s);
        result[leg.name.c_str()] = windows;
    }
    return result;
}

nb::list threads_of(const PageReader& page) {
    nb::list result;
    for (const auto& [name, told, seen_wall_ns] : page.threads()) {
        nb::dict thread;
        thread["name"] = name;
        thread["runs"] = told.runs;
        thread["seen_ns"] = seen_wall_ns;
        thread["busy"] = told.busy;
        thread["busy_1s"] = told.busy_last;
        thread["longest_ns"] = told.longest_ns;
        thread["longest_1s_ns"] = told.longest_last_ns;
        result.append(thread);
    }
    return result;
}

nb::list buffers_of(const PageReader& page) {
    nb::list result;
    for (const auto& [stage, n_buffers, n_free] : page.buffers())
        result.append(nb::make_tuple(stage, n_buffers, n_free));
    return result;
}

nb::object event_of(const PageReader& page) {
    const auto event = page.event();
    if (!event) return nb::none();
    const auto* const bytes = reinterpret_cast<const char*>(event->payload.data());
    return nb::make_tuple(event->kind, event->wall_ns, nb::bytes(bytes, event->payload.size()));
}

template <auto read>
void bind_reading(nb::module_& module, const char* name) {
    module.def(
        name, [](const std::string& page_name) { return read(PageReader(page_name)); }, nb::arg("page_name"));
}

}  // namespace

void bind_counter_pages(nb::module_& module) {
    bind_reading<[](const PageReader& page) { return values_of(page.cells()); }>(module, "read_counters");
    bind_reading<header_of>(module, "page_header");
    bind_reading<cells_of>(module, "page_cells");
    bind_reading<latency_of_page>(module, "page_latency");
    bind_reading<threads_of>(module, "page_threads");
    bind_reading<buffers_of>(module, "page_buffers");
    bind_reading<event_of>(module, "page_event");
}

}  // namespace anello::bindings

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "config.hpp"
#include "counters.hpp"
#include "sequences.hpp"
#include "source/sinks/udp_sink.hpp"

namespace anello::bindings {

/// Adds the front ends of a detector as a class of the module, made from the values of a configuration. The caller adds
/// functions that only this detector has.
template <typename Handle>
nb::class_<Handle> bind_source_handle(nb::module_& module, const char* name) {
    return nb::class_<Handle>(module, name)
        .def(nb::init<const nb::dict&>(), nb::arg("config"))
        .def("start", &Handle::start)
        .def("stop", &Handle::stop)
        .def("running", &Handle::running)
        .def("set_state", &Handle::set_state, nb::arg("word"))
        .def("counters", &Handle::counters)
        .def("sequences", &Handle::sequences)
        .def("truth", &Handle::truth);
}

/// Front ends of class source::PlannedSource, made from a configuration, further arguments, sink, clock and page.
template <typename Source>
class PlannedSourceHandle {
  public:
    template <typename Config, typename... More>
    PlannedSourceHandle(const nb::dict& values, const Config& config, const More&... more)
        : page_(page_identity(ConfigReader(values))),
          sink_(config.endpoints()),
          source_(config, more..., sink_, SystemClock::instance(), page_) {}

    void start() { source_.start(); }
    void stop() {
        nb::gil_scoped_release release;
        source_.stop();
    }
    bool running() const { return source_.running(); }
    void set_state(const std::string& word) { bindings::set_state(page_, word); }
    nb::dict counters() { return kept_values_of(page_); }
    nb::dict sequences() const {
        nb::dict by_board;
        for (std::uint32_t i = 0; i < source_.n_boards(); ++i)
            by_board[nb::int_(source_.first_board() + i)] = dict_of(source_.log(source_.first_board() + i));
        return by_board;
    }
    nb::dict truth() const { return {}; }

  private:
    CounterPage page_;
    source::UdpSink sink_;
    Source source_;
};

/// The sent events as columns event_key u64[S] and pool_index u32[S]; none if there is no source yet.
template <typename Source>
void add_sent(const Source* source, nb::dict& arrays) {
    std::vector<std::uint64_t> key;
    std::vector<std::uint32_t> index;
    if (source != nullptr)
        for (const auto& event : source->truth()) {
            key.push_back(event.event_key);
            index.push_back(event.pool_index);
        }
    arrays["event_key"] = to_numpy(std::move(key));
    arrays["pool_index"] = to_numpy(std::move(index));
}

}  // namespace anello::bindings

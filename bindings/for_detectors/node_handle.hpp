// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "counters.hpp"
#include "histograms.hpp"
#include "pipeline/told.hpp"
#include "sequences.hpp"

namespace anello::bindings {

/// The functions that a node of any chain offers to Python. A derived class must stop the node before its own members
/// are destroyed.
template <typename Node>
class NodeHandle {
  public:
    NodeHandle(const NodeHandle&) = delete;
    NodeHandle& operator=(const NodeHandle&) = delete;

    void start() { node_->start(); }
    void stop() {
        nb::gil_scoped_release release;
        node_->stop();
    }
    bool finished() const {
        node_->keep_page();
        return node_->finished();
    }
    /// Sets the state of the run, a word of RunState. Throws ConfigError.
    void set_state(const std::string& word) { bindings::set_state(node_->page(), word); }
    std::vector<std::uint16_t> ports() const { return node_->ports(); }
    nb::dict counters() const {
        node_->keep_page();
        return values_of(node_->counters());
    }
    nb::dict counter_meanings() const { return meanings_of(node_->counters()); }
    nb::dict latency() const { return latency_of(node_->latency()); }
    nb::dict latency_over_time() const { return over_time(node_->latency_over_time()); }
    /// Wake-up delays of the machine for each core; empty if they are not measured.
    nb::dict hiccups() const {
        if constexpr (requires { node_->probe(); })
            if (node_->probe() != nullptr) return hiccups_of(*node_->probe());
        return {};
    }
    pipeline::Notices notices() { return node_->notices(); }
    pipeline::States states() const { return node_->states(); }
    /// For each board, of a node without an exchange.
    nb::dict sequences() {
        if (node_->running()) throw std::runtime_error("sequences: stop the node first");
        nb::dict by_board;
        node_->for_each_sequence_log(
            [&](std::uint32_t board, const receive::SequenceLog& log) { by_board[nb::int_(board)] = dict_of(log); });
        return by_board;
    }

  protected:
    explicit NodeHandle(std::shared_ptr<Node> node) : node_(std::move(node)) {}
    ~NodeHandle() = default;

    std::shared_ptr<Node> node_;
};

/// (text, severity) of each notice, in the form that anello.account.notices.Notices.tell takes.
inline std::vector<std::pair<std::string, std::string>> told(const Notices& notices) {
    std::vector<std::pair<std::string, std::string>> told;
    for (const Notice& notice : notices) told.emplace_back(notice.text, name_of(notice.severity));
    return told;
}

/// Adds the node as a class of the module, made from the values of a configuration. The caller adds functions that only
/// this chain has.
template <typename Handle>
nb::class_<Handle> bind_handle(nb::module_& module, const char* name) {
    return nb::class_<Handle>(module, name)
        .def(nb::init<const nb::dict&>(), nb::arg("config"))
        .def("start", &Handle::start)
        .def("stop", &Handle::stop)
        .def("finished", &Handle::finished)
        .def("set_state", &Handle::set_state, nb::arg("word"))
        .def("ports", &Handle::ports)
        .def("counters", &Handle::counters)
        .def("counter_meanings", &Handle::counter_meanings)
        .def("latency", &Handle::latency)
        .def("latency_over_time", &Handle::latency_over_time)
        .def("hiccups", &Handle::hiccups)
        .def("notices", [](Handle& handle) { return told(handle.notices()); })
        .def("states", &Handle::states);
}

}  // namespace anello::bindings

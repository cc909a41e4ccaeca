// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "config.hpp"
#include "counters.hpp"
#include "sequences.hpp"
#include "source/planned_source.hpp"
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

/// Front ends that are a source::PlannedSource. It may be made later than the handle, at the start.
class PlannedSourceHandle {
  public:
    void start() {
        prepare();
        source_->start();
    }
    void stop() {
        nb::gil_scoped_release release;
        if (source_) source_->stop();
    }
    bool running() const { return source_ && source_->running(); }
    void set_state(const std::string& word) { bindings::set_state(page_, word); }
    nb::dict counters() { return kept_values_of(page_); }
    nb::dict sequences() const {
        nb::dict by_board;
        for (std::size_t i = 0; source_ && i < source_->boards().size(); ++i)
            by_board[nb::int_(source_->boards()[i].board)] = dict_of(source_->sent_log(i));
        return by_board;
    }

  protected:
    PlannedSourceHandle(const nb::dict& values, const std::vector<source::BoardEndpoint>& boards,
                        source::Offload offload = source::Offload::none)
        : page_(page_identity(ConfigReader(values))), sink_(boards, offload) {}
    ~PlannedSourceHandle() = default;

    /// Makes the source, so that start() begins at once.
    virtual void prepare() {}
    /// Of a configuration, what else it takes, sink, clock and page.
    template <typename Source, typename Config, typename... More>
    void make(const Config& config, More&&... more) {
        source_ = std::make_unique<Source>(config, std::forward<More>(more)..., sink_, SystemClock::instance(), page_);
    }
    /// Adds which events were sent, as columns event_key u64[S] and pool_index u32[S]; none where there is no source
    /// yet.
    void add_sent(nb::dict& arrays) const {
        std::vector<std::uint64_t> key;
        std::vector<std::uint32_t> index;
        if (source_)
            for (const source::TruthSample& event : source_->truth()) {
                key.push_back(event.event_key);
                index.push_back(event.pool_index);
            }
        arrays["event_key"] = to_numpy(std::move(key));
        arrays["pool_index"] = to_numpy(std::move(index));
    }
    bool has_source() const noexcept { return source_ != nullptr; }
    /// Call it in the destructor of the object whose data the source uses: its thread may still run.
    void end_source() noexcept { source_.reset(); }

  private:
    CounterPage page_;
    source::UdpSink sink_;
    std::unique_ptr<source::PlannedSource> source_;
};

/// One that is made at once, and keeps no truth.
template <typename Source>
class ReadySourceHandle : public PlannedSourceHandle {
  public:
    template <typename Config, typename... More>
    ReadySourceHandle(const nb::dict& values, const Config& config, const More&... more)
        : PlannedSourceHandle(values, config.endpoints()) {
        make<Source>(config, more...);
    }
    nb::dict truth() const { return {}; }
};

}  // namespace anello::bindings

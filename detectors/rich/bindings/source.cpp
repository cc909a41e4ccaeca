// SPDX-License-Identifier: Apache-2.0
#include "rich/source/source.hpp"

#include <algorithm>
#include <memory>

#include "arrays.hpp"
#include "config.hpp"
#include "counters.hpp"
#include "keys.hpp"
#include "rich/bindings/parts.hpp"
#include "rich/source/event_pool.hpp"
#include "rich/source/simulation.hpp"
#include "sequences.hpp"
#include "source/sinks/udp_sink.hpp"
#include "source_handle.hpp"

namespace anello::rich {
namespace {

namespace nb = nanobind;
using bindings::ConfigReader;

RichSimulationConfig simulation_config(const ConfigReader& from, std::uint64_t seed) {
    RichSimulationConfig config;
    config.seed = seed;
    bindings::take(from, rich_simulation_keys, config);
    return config;
}

RichSourceConfig source_config(const ConfigReader& from) {
    RichSourceConfig config;
    RichEndpoints boards;
    bindings::take(from, rich_endpoints_keys, boards);
    config.boards = boards.endpoints();
    config.seed = bindings::seed_config(from);
    bindings::take(from, rich_source_keys, config);
    bindings::take(from.below("faults"), rich_faults_keys, config.faults);
    return config;
}

template <typename T, typename Get>
nb::object ring_column(const EventSample& sample, Get get) {
    std::vector<T> column;
    column.reserve(sample.rings.size());
    for (const auto& ring : sample.rings) column.push_back(static_cast<T>(get(ring)));
    return bindings::to_numpy(std::move(column));
}

template <typename T, typename Get>
nb::object hit_column(const EventSample& sample, Get get) {
    std::vector<T> column;
    column.reserve(sample.hits.size());
    for (const auto& hit : sample.hits) column.push_back(static_cast<T>(get(hit)));
    return bindings::to_numpy(std::move(column));
}

nb::dict arrays_of(const EventSample& sample) {
    std::vector<std::uint32_t> ring_event;
    ring_event.reserve(sample.rings.size());
    for (std::uint32_t event = 0; event < sample.n_events(); ++event)
        ring_event.insert(ring_event.end(), sample.rings_of(event).size(), event);
    nb::dict arrays;
    arrays["hit_pmt"] = hit_column<std::uint16_t>(sample, [](const auto& hit) { return hit.pmt; });
    arrays["hit_time_fine"] = hit_column<std::int16_t>(sample, [](const auto& hit) { return hit.time_fine; });
    arrays["hit_ring"] = hit_column<std::int8_t>(sample, [](const auto& hit) { return hit.ring; });
    arrays["event_offset"] = bindings::to_numpy(std::vector<std::uint32_t>(sample.hit_offset));
    arrays["ring_event"] = bindings::to_numpy(std::move(ring_event));
    arrays["ring_x_mm"] = ring_column<float>(sample, [](const auto& ring) { return ring.x_mm; });
    arrays["ring_y_mm"] = ring_column<float>(sample, [](const auto& ring) { return ring.y_mm; });
    arrays["ring_radius_mm"] = ring_column<float>(sample, [](const auto& ring) { return ring.radius_mm; });
    arrays["ring_n_hits"] = ring_column<std::uint16_t>(sample, [](const auto& ring) { return ring.n_hits; });
    arrays["ring_in_time"] = ring_column<std::uint8_t>(sample, [](const auto& ring) { return ring.in_time; });
    arrays["ring_particle"] = ring_column<std::uint8_t>(sample, [](const auto& ring) { return ring.particle; });
    arrays["ring_momentum_gev"] = ring_column<float>(sample, [](const auto& ring) { return ring.momentum_gev; });
    return arrays;
}

nb::dict simulate(const nb::dict& config, std::uint64_t seed, std::uint32_t n_events) {
    RichSimulation simulation(simulation_config(ConfigReader(config), seed));
    return arrays_of(simulation.simulate(n_events));
}

/// The front ends. They make their pool of events when they start, or earlier from the user's events.
class SourceHandle final : public bindings::PlannedSourceHandle {
  public:
    explicit SourceHandle(const nb::dict& values) : SourceHandle(values, source_config(ConfigReader(values))) {
        config_.validate();
        simulation_config(reader_.below("simulation"), config_.seed).validate();
    }
    ~SourceHandle() { end_source(); }

    void set_events(const bindings::Input<std::uint16_t>& pmt, const bindings::Input<std::int16_t>& time_fine,
                    const bindings::Input<std::uint32_t>& offset) {
        if (has_source()) throw ConfigError("events", "must be set before start", "started", "Make a new Source.");
        check(pmt, time_fine, offset);
        sample_ = {};
        std::vector<SampleHit> hits;
        for (std::size_t event = 0; event + 1 < offset.shape(0); ++event) {
            hits.clear();
            for (std::uint32_t i = offset.data()[event]; i < offset.data()[event + 1]; ++i)
                hits.push_back({pmt.data()[i], time_fine.data()[i]});
            sample_.add_event(hits);
        }
        make_source();
    }

    void prepare() override {
        if (has_source()) return;
        const RichSimulationConfig config = simulation_config(reader_.below("simulation"), config_.seed);
        // A short run sends only the first events of the pool, so it makes no more: it then starts without delay.
        const std::uint64_t n_events = std::min<std::uint64_t>(config.n_pool_events, config_.likely_most_events());
        sample_ = RichSimulation(config).simulate(static_cast<std::uint32_t>(n_events));
        make_source();
    }

    nb::dict truth() const {
        nb::dict arrays = arrays_of(sample_);
        add_sent(arrays);
        return arrays;
    }

  private:
    SourceHandle(const nb::dict& values, const RichSourceConfig& config)
        : PlannedSourceHandle(values, config.boards, config.offload), reader_(values), config_(config) {}
    static void check(const bindings::Input<std::uint16_t>& pmt, const bindings::Input<std::int16_t>& time_fine,
                      const bindings::Input<std::uint32_t>& offset) {
        const std::size_t n = offset.shape(0);
        const bool right = n > 1 && pmt.shape(0) == time_fine.shape(0) && offset.data()[0] == 0 &&
                           offset.data()[n - 1] == pmt.shape(0) && std::is_sorted(offset.data(), offset.data() + n);
        if (!right)
            throw std::invalid_argument(
                "set_events: hit_pmt and hit_time_fine must have one length N, and event_offset must rise from 0 to N");
    }
    void make_source() {
        pool_ = std::make_unique<EventPool>(sample_, config_.format, config_.hit_times);
        make<RichSource>(config_, *pool_);
    }

    ConfigReader reader_;
    const RichSourceConfig config_;
    EventSample sample_;
    std::unique_ptr<EventPool> pool_;
};

}  // namespace

void bind_source(nb::module_& module) {
    module.def("simulate", &simulate, nb::arg("config"), nb::arg("seed"), nb::arg("n_events"));
    bindings::bind_source_handle<SourceHandle>(module, "Source")
        .def("set_events", &SourceHandle::set_events, nb::arg("hit_pmt"), nb::arg("hit_time_fine"),
             nb::arg("event_offset"))
        .def("prepare", &SourceHandle::prepare);
}

}  // namespace anello::rich

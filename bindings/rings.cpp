// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "arrays.hpp"
#include "config.hpp"
#include "detector/rich_geometry.hpp"
#include "module.hpp"
#include "trigger/batch_finder.hpp"
#include "trigger/ring_finder.hpp"
#include "trigger/ring_finder_cuda.hpp"

namespace anello::bindings {
namespace {

void check_shapes(const Input<float>& x_mm, const Input<float>& y_mm, const Input<std::uint32_t>& offset) {
    const std::size_t n_hits = x_mm.shape(0);
    if (y_mm.shape(0) != n_hits)
        throw std::invalid_argument(
            fmt::format("hit_x_mm has shape ({},) and hit_y_mm ({},): they must be equal", n_hits, y_mm.shape(0)));
    const std::size_t n = offset.shape(0);
    if (n == 0 || offset.data()[0] != 0 || offset.data()[n - 1] != n_hits)
        throw std::invalid_argument(fmt::format(
            "event_offset must begin with 0 and end with the number of hits, {}; its shape is ({},){}", n_hits, n,
            n == 0 ? "" : fmt::format(", first {}, last {}", offset.data()[0], offset.data()[n - 1])));
    if (!std::is_sorted(offset.data(), offset.data() + n)) throw std::invalid_argument("event_offset must not fall");
}

/// Blocks of events so that each thread's share is contiguous; results are stored next to each other.
void find_in_threads(const trigger::RingFinder& finder, const trigger::HitsView& hits, trigger::EventRings* rings,
                     unsigned n_threads) {
    const std::uint32_t n = hits.n_events;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < n_threads; ++t) {
        const auto first = static_cast<std::uint32_t>(std::uint64_t{n} * t / n_threads);
        const auto last = static_cast<std::uint32_t>(std::uint64_t{n} * (t + 1) / n_threads);
        auto share = [&finder, hits, rings, first, last] {
            finder.find({last - first, hits.hit_offset + first, hits.x_mm, hits.y_mm}, rings + first);
        };
        if (t + 1 == n_threads)
            share();
        else
            threads.emplace_back(share);
    }
    for (auto& thread : threads) thread.join();
}

/// Room for 65 536 events at a time, or for the event with the most hits.
trigger::ChosenDevice device_for(trigger::Backend backend, const trigger::RingFinderConfig& config,
                                 const Input<std::uint32_t>& offset) {
    const auto n_events = static_cast<std::uint32_t>(std::clamp<std::size_t>(offset.shape(0) - 1, 1, 65'536));
    std::uint32_t most_hits = 1;
    for (std::size_t e = 0; e + 1 < offset.shape(0); ++e)
        most_hits = std::max(most_hits, offset.data()[e + 1] - offset.data()[e]);
    return trigger::choose_device(backend, config, n_events,
                                  std::max(most_hits, n_events * trigger::max_hits_per_event));
}

using RingArrays = std::tuple<nb::object, nb::object, nb::object, nb::object, nb::object>;

RingArrays flatten(const std::vector<trigger::EventRings>& events) {
    std::size_t n_rings = 0;
    for (const auto& event : events) n_rings += event.n_rings;
    std::vector<float> x, y, radius;
    std::vector<std::uint16_t> n_hits;
    std::vector<std::uint32_t> offset{0};
    for (auto* column : {&x, &y, &radius}) column->reserve(n_rings);
    n_hits.reserve(n_rings);
    offset.reserve(events.size() + 1);
    for (const auto& event : events) {
        for (unsigned r = 0; r < event.n_rings; ++r) {
            x.push_back(event.ring[r].x_mm);
            y.push_back(event.ring[r].y_mm);
            radius.push_back(event.ring[r].radius_mm);
            n_hits.push_back(event.ring[r].n_hits);
        }
        offset.push_back(static_cast<std::uint32_t>(x.size()));
    }
    return {to_numpy(std::move(x)), to_numpy(std::move(y)), to_numpy(std::move(radius)), to_numpy(std::move(n_hits)),
            to_numpy(std::move(offset))};
}

RingArrays find_rings(const Input<float>& x_mm, const Input<float>& y_mm, const Input<std::uint32_t>& event_offset,
                      const std::string& algorithm, const std::string& backend, const std::string& isa, int threads,
                      const nb::dict& params) {
    check_shapes(x_mm, y_mm, event_offset);
    if (threads < 1 || threads > 1024)
        throw std::invalid_argument(fmt::format("threads must be 1 to 1024, not {}", threads));
    trigger::RingFinderConfig config;
    take_finder(ConfigReader(params), config);
    config.algorithm = trigger::parse_algorithm(algorithm);
    config.isa = trigger::parse_isa(isa);
    const trigger::RingFinder finder(config);
    const trigger::Backend wanted = trigger::parse_backend(backend);
    const trigger::ChosenDevice device = device_for(wanted, config, event_offset);
    std::vector<trigger::EventRings> rings(event_offset.shape(0) - 1);
    {
        nb::gil_scoped_release release;
        const trigger::HitsView hits{static_cast<std::uint32_t>(rings.size()), event_offset.data(), x_mm.data(),
                                     y_mm.data()};
        const bool done = device.finder != nullptr && device.finder->find(hits, rings.data());
        if (!done && wanted == trigger::Backend::cuda)
            throw std::runtime_error("the CUDA device failed; backend=\"cpu\" finds the same rings");
        if (!done) find_in_threads(finder, hits, rings.data(), static_cast<unsigned>(threads));
    }
    return flatten(rings);
}

std::vector<std::string> algorithms() {
    std::vector<std::string> names;
    for (auto a = trigger::Algorithm::crawford; a <= trigger::Algorithm::multiring;
         a = static_cast<trigger::Algorithm>(static_cast<int>(a) + 1))
        names.emplace_back(trigger::name_of(a));
    return names;
}

std::vector<std::string> isas() {
    std::vector<std::string> names;
    for (auto isa : {trigger::Isa::scalar, trigger::Isa::sse42, trigger::Isa::avx2, trigger::Isa::avx512})
        if (trigger::is_available(isa)) names.emplace_back(trigger::name_of(isa));
    return names;
}

nb::object rich_positions(const std::string& fit_frame) {
    namespace rich = detector::rich;
    std::vector<float> flat;
    flat.reserve(2 * rich::n_pmts);
    for (const rich::Point& p : rich::fit_positions(rich::parse_fit_frame(fit_frame.c_str()))) {
        flat.push_back(p.x_mm);
        flat.push_back(p.y_mm);
    }
    return to_numpy(std::move(flat), std::size_t{rich::n_pmts}, std::size_t{2});
}

}  // namespace

void bind_rings(nb::module_& module) {
    module.def("find_rings", &find_rings, nb::arg("hit_x_mm"), nb::arg("hit_y_mm"), nb::arg("event_offset"),
               nb::arg("algorithm"), nb::arg("backend"), nb::arg("isa"), nb::arg("threads"), nb::arg("params"));
    module.def("algorithms", &algorithms);
    module.def("isas", &isas);
    module.def("cuda_unavailable_reason", &trigger::CudaRingFinder::unavailable_reason);
    module.def("rich_positions", &rich_positions, nb::arg("fit_frame") = "run_2016");
}

}  // namespace anello::bindings

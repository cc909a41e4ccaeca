// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "arrays.hpp"
#include "config.hpp"
#include "rich/bindings/finder_config.hpp"
#include "rich/bindings/parts.hpp"
#include "rich/geometry.hpp"
#include "rich/rings/batch_finder.hpp"
#include "rich/rings/ring_finder.hpp"
#include "rich/rings/ring_finder_cuda.hpp"
#include "rich/rings/ring_quality.hpp"
#include "rich/source/cherenkov.hpp"

namespace anello::rich {
namespace {

namespace nb = nanobind;
using bindings::ConfigReader;

void check_shapes(const bindings::Input<float>& x_mm, const bindings::Input<float>& y_mm,
                  const bindings::Input<std::uint32_t>& offset) {
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

/// Gives each thread a contiguous block of events; their results are contiguous, too.
void find_in_threads(const RingFinder& finder, const HitsView& hits, EventRings* rings, unsigned n_threads) {
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

/// Makes a device with room for 65 536 events at a time, or for the event with the most hits.
ChosenDevice device_for(Backend backend, const RingFinderConfig& config, const bindings::Input<std::uint32_t>& offset) {
    const auto n_events = static_cast<std::uint32_t>(std::clamp<std::size_t>(offset.shape(0) - 1, 1, 65'536));
    std::uint32_t most_hits = 1;
    for (std::size_t e = 0; e + 1 < offset.shape(0); ++e)
        most_hits = std::max(most_hits, offset.data()[e + 1] - offset.data()[e]);
    return choose_device(backend, config, n_events, std::max(most_hits, n_events * max_hits_per_event));
}

using RingArrays = std::tuple<nb::object, nb::object, nb::object, nb::object, nb::object>;

RingArrays flatten(const std::vector<EventRings>& events) {
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
    return {bindings::to_numpy(std::move(x)), bindings::to_numpy(std::move(y)), bindings::to_numpy(std::move(radius)),
            bindings::to_numpy(std::move(n_hits)), bindings::to_numpy(std::move(offset))};
}

/// Computes n_assigned, log_likelihood_ratio, covariance_mm2 by ring and hit_ring by hit, after any backend.
nb::dict qualities(const RingFinderConfig& config, const HitsView& hits, const std::vector<EventRings>& events) {
    std::vector<std::uint16_t> n_assigned;
    std::vector<float> ratio, covariance;
    std::vector<std::int8_t> hit_ring(hits.hit_offset[hits.n_events]);
    {
        nb::gil_scoped_release release;
        std::array<RingQuality, max_rings_per_event> quality;
        for (std::uint32_t e = 0; e < hits.n_events; ++e) {
            judge_rings(config, hits, e, events[e], quality.data(), hit_ring.data() + hits.hit_offset[e]);
            for (std::size_t k = 0; k < events[e].n_rings; ++k) {
                n_assigned.push_back(quality[k].n_assigned);
                ratio.push_back(quality[k].log_likelihood_ratio);
                covariance.insert(covariance.end(), quality[k].covariance_mm2.begin(), quality[k].covariance_mm2.end());
            }
        }
    }
    nb::dict columns;
    const std::size_t n = n_assigned.size();
    columns["n_assigned"] = bindings::to_numpy(std::move(n_assigned));
    columns["log_likelihood_ratio"] = bindings::to_numpy(std::move(ratio));
    columns["covariance_mm2"] = bindings::to_numpy(std::move(covariance), n, std::size_t{3}, std::size_t{3});
    columns["hit_ring"] = bindings::to_numpy(std::move(hit_ring));
    return columns;
}

using FoundArrays = std::tuple<RingArrays, nb::object>;

FoundArrays find_rings(const bindings::Input<float>& x_mm, const bindings::Input<float>& y_mm,
                       const bindings::Input<std::uint32_t>& event_offset, const std::string& algorithm,
                       const std::string& backend, const std::string& isa, int threads, const nb::dict& params,
                       bool quality) {
    check_shapes(x_mm, y_mm, event_offset);
    if (threads < 1 || threads > 1024)
        throw std::invalid_argument(fmt::format("threads must be 1 to 1024, not {}", threads));
    RingFinderConfig config;
    take_finder(ConfigReader(params), config);
    config.algorithm = parse_algorithm(algorithm);
    config.isa = parse_word<Isa>(isa, "isa");
    const RingFinder finder(config);
    const Backend wanted = parse_backend(backend);
    const ChosenDevice device = device_for(wanted, config, event_offset);
    std::vector<EventRings> rings(event_offset.shape(0) - 1);
    const HitsView hits{static_cast<std::uint32_t>(rings.size()), event_offset.data(), x_mm.data(), y_mm.data()};
    {
        nb::gil_scoped_release release;
        const bool done = device.finder != nullptr && device.finder->find(hits, rings.data());
        if (!done && wanted == Backend::cuda)
            throw std::runtime_error("the CUDA device failed; backend=\"cpu\" finds the same rings");
        if (!done) find_in_threads(finder, hits, rings.data(), static_cast<unsigned>(threads));
    }
    return {flatten(rings), quality ? nb::object(qualities(config, hits, rings)) : nb::none()};
}

/// Radii [n, 4] of electron, muon, pion, kaon in mm; 0 below threshold.
nb::object ring_radii(const bindings::Input<double>& momentum_gev, double electron_ring_radius_mm) {
    const CherenkovOptics optics(electron_ring_radius_mm);
    std::vector<double> radii;
    radii.reserve(4 * momentum_gev.shape(0));
    for (std::size_t i = 0; i < momentum_gev.shape(0); ++i)
        for (const Particle particle : {Particle::electron, Particle::muon, Particle::pion, Particle::kaon})
            radii.push_back(optics.radius_mm(particle, momentum_gev.data()[i]));
    return bindings::to_numpy(std::move(radii), momentum_gev.shape(0), std::size_t{4});
}

std::vector<std::string> algorithms() {
    std::vector<std::string> names;
    for (auto a = Algorithm::crawford; a <= Algorithm::multiring; a = static_cast<Algorithm>(static_cast<int>(a) + 1))
        names.emplace_back(name_of(a));
    return names;
}

nb::object positions(const std::string& fit_frame) {
    std::vector<float> flat;
    flat.reserve(2 * n_pmts);
    for (const Point& p : fit_positions(parse_fit_frame(fit_frame.c_str()))) {
        flat.push_back(p.x_mm);
        flat.push_back(p.y_mm);
    }
    return bindings::to_numpy(std::move(flat), std::size_t{n_pmts}, std::size_t{2});
}

}  // namespace

void bind_rings(nb::module_& module) {
    module.def("find_rings", &find_rings, nb::arg("hit_x_mm"), nb::arg("hit_y_mm"), nb::arg("event_offset"),
               nb::arg("algorithm"), nb::arg("backend"), nb::arg("isa"), nb::arg("threads"), nb::arg("params"),
               nb::arg("quality"));
    module.def("ring_radii", &ring_radii, nb::arg("momentum_gev"), nb::arg("electron_ring_radius_mm"));
    module.def("algorithms", &algorithms);
    module.def("cuda_unavailable_reason", &CudaRingFinder::unavailable_reason);
    module.def("positions", &positions, nb::arg("fit_frame") = "run_2016");
}

}  // namespace anello::rich

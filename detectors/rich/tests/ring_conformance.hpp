// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "rich/rings/ring_finder.hpp"
#include "rich/tests/reference.hpp"
#include "rich/tests/rings/sample.hpp"

/// The conformance suite of ring finding compares every algorithm of a backend with the reference. A backend is a
/// function; the suite is instantiated for each instruction set, and can be for any other processor.
namespace conformance {

using Backend = std::function<void(const anello::rich::RingFinderConfig&, const anello::rich::HitsView&,
                                   anello::rich::EventRings*)>;

inline anello::rich::HitsView view_of(const rings::Sample& s) {
    return {s.n_events(), s.hit_offset.data(), s.x_mm.data(), s.y_mm.data()};
}

inline reference::Hits hits_of(const rings::Sample& s, std::size_t event) {
    reference::Hits hits;
    for (std::uint32_t i = s.hit_offset[event]; i < s.hit_offset[event + 1]; ++i)
        hits.push_back({s.x_mm[i], s.y_mm[i]});
    return hits;
}

inline rings::Sample sample_of(int n_rings, std::uint64_t seed, int n_events) {
    rings::SampleConfig config;
    config.n_rings = n_rings;
    return rings::simulate(rings::PmtLattice(), config, seed, n_events);
}

inline std::vector<anello::rich::EventRings> run(const Backend& backend, anello::rich::Algorithm algorithm,
                                                 const rings::Sample& sample) {
    anello::rich::RingFinderConfig config;
    config.algorithm = algorithm;
    std::vector<anello::rich::EventRings> out(sample.n_events());
    backend(config, view_of(sample), out.data());
    return out;
}

/// The flags, and all values of each ring, but not the two padding bytes after it, which nothing writes.
inline auto values_of(const anello::rich::EventRings& event) {
    std::vector<std::array<float, 4>> rings;
    for (int k = 0; k < event.n_rings; ++k) {
        const anello::rich::Ring& ring = event.ring[k];
        rings.push_back({ring.x_mm, ring.y_mm, ring.radius_mm, static_cast<float>(ring.n_hits)});
    }
    return std::pair(event.flags, rings);
}

inline double difference_mm(const anello::rich::Ring& ring, const reference::Circle& c) {
    return std::max({std::abs(ring.x_mm - c.x), std::abs(ring.y_mm - c.y), std::abs(ring.radius_mm - c.r)});
}

/// True if the number of rings is the same, and each agrees within the tolerance, in the same order.
inline bool same_rings(const anello::rich::EventRings& found, const reference::Circles& wanted, double tolerance_mm) {
    if (found.n_rings != wanted.size()) return false;
    for (std::size_t k = 0; k < wanted.size(); ++k)
        if (difference_mm(found.ring[k], wanted[k]) > tolerance_mm) return false;
    return true;
}

/// Fraction of events whose rings are those of the reference. It may be below 1: if a hit is on the edge of a window or
/// bin, single and double precision may decide differently.
inline double share_equal(const Backend& backend, anello::rich::Algorithm algorithm, const rings::Sample& sample,
                          double tolerance_mm,
                          const std::function<reference::Circles(const reference::Hits&)>& wanted) {
    const auto out = run(backend, algorithm, sample);
    int equal = 0;
    for (std::size_t e = 0; e < out.size(); ++e) equal += same_rings(out[e], wanted(hits_of(sample, e)), tolerance_mm);
    return static_cast<double>(equal) / static_cast<double>(out.size());
}

/// Fraction of events whose rings are those of the scalar build, within 0.2 mm.
inline double share_as_scalar(const Backend& backend, anello::rich::RingFinderConfig config,
                              const rings::Sample& sample) {
    std::vector<anello::rich::EventRings> out(sample.n_events()), scalar(sample.n_events());
    backend(config, view_of(sample), out.data());
    config.isa = anello::Isa::scalar;
    anello::rich::RingFinder(config).find(view_of(sample), scalar.data());
    int equal = 0;
    for (std::size_t e = 0; e < out.size(); ++e) {
        reference::Circles wanted;
        for (int k = 0; k < scalar[e].n_rings; ++k)
            wanted.push_back({scalar[e].ring[k].x_mm, scalar[e].ring[k].y_mm, scalar[e].ring[k].radius_mm});
        equal += same_rings(out[e], wanted, 0.2);
    }
    return static_cast<double>(equal) / static_cast<double>(out.size());
}

/// The circle, if it is in the acceptance and enough hits are near it.
inline reference::Circles if_ring(const std::optional<reference::Circle>& c, const reference::Hits& hits,
                                  double window_mm) {
    const anello::rich::RingFinderConfig config;
    if (!c || !reference::accepts(config.acceptance, *c)) return {};
    const auto near = std::count_if(hits.begin(), hits.end(), [&](const auto& h) {
        const double d = c->distance(h);
        return std::abs(d * d - c->r * c->r) < 2 * c->r * window_mm;
    });
    if (near < static_cast<long>(config.single.min_ring_hits)) return {};
    return {*c};
}

}  // namespace conformance

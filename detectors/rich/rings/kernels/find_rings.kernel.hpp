// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/almagest.kernel.hpp"
#include "rich/rings/kernels/histogram.kernel.hpp"
#include "rich/rings/kernels/multi_ring.kernel.hpp"

/// Loops over the events of a batch, for one kind of lane.
namespace anello::rich {

template <class L>
ANELLO_HD Bounds bounds_of(const Acceptance& acceptance) {
    return {acceptance.centre_max_mm / unit_mm, acceptance.radius_min_mm / unit_mm, acceptance.radius_max_mm / unit_mm};
}

/// Finds one ring in each of the events in the lanes with the fit `fit`, and empties the lanes.
template <class L, class Fit>
ANELLO_HD void fit_in_lanes(LaneHits<L>& lanes, const RingFinderConfig& config, const Bounds& bounds, float window_mm,
                            EventRings* rings, const Fit& fit) {
    finish_lanes<L>(config.acceptance, lanes);
    const Circles<L> c = fit(lanes);
    const auto near = window_mm > 0 ? count_near<L>(lanes, c, window_mm / unit_mm) : L::load(lanes.n);
    const auto enough = L::less(L::set(static_cast<float>(config.single.min_ring_hits) - 0.5f), near);
    const std::uint32_t good = L::bits(L::both(lies_within<L>(c, bounds), enough));
    alignas(64) float a[L::width], b[L::width], r[L::width], n[L::width];
    L::store(a, c.a);
    L::store(b, c.b);
    L::store(r, c.r);
    L::store(n, near);
    for (int lane = 0; lane < lanes.n_lanes; ++lane) {
        EventRings& out = rings[lanes.event[lane]];
        begin<L>(out, lanes.flags[lane]);
        if ((good >> lane & 1) != 0) write_ring<L>(out, config.acceptance, a[lane], b[lane], r[lane], n[lane]);
    }
    clear_lanes<L>(lanes);
}

/// window_mm: hits this close to the circle belong to it; 0: all hits.
template <class L, class Fit>
ANELLO_HD void find_one_each(const HitsView& hits, const RingFinderConfig& config, const Bounds& bounds,
                             float window_mm, EventRings* rings, const Fit& fit) {
    LaneHits<L> lanes;
    clear_lanes<L>(lanes);
    for (std::uint32_t event = 0; event < hits.n_events; ++event) {
        add_lane<L>(span_of<L>(hits, event), event, lanes);
        if (lanes.n_lanes == L::width || event + 1 == hits.n_events)
            fit_in_lanes<L>(lanes, config, bounds, window_mm, rings, fit);
    }
}

/// Processes event after event with the finder `find`.
template <class L, class Find>
ANELLO_HD void find_each(const HitsView& hits, const RingFinderConfig& config, EventRings* rings, const Find& find) {
    EventHits one;
    for (std::uint32_t event = 0; event < hits.n_events; ++event) {
        EventRings& out = rings[event];
        out.n_rings = 0;
        load_hits<L>(span_of<L>(hits, event), config.acceptance, one, out.flags);
        find(one, out);
    }
}

/// All algorithms except the tiered one.
template <class L>
ANELLO_HD void find_in_one_tier(Algorithm algorithm, const RingFinderConfig& config, const Bounds& bounds,
                                const HitsView& hits, EventRings* rings) {
    switch (algorithm) {
        case Algorithm::crawford:
            return find_one_each<L>(hits, config, bounds, 0, rings,
                                    [](const LaneHits<L>& lanes) { return fit_crawford<L>(lanes); });
        case Algorithm::taubin:
            return find_one_each<L>(hits, config, bounds, 0, rings,
                                    [](const LaneHits<L>& lanes) { return fit_taubin<L>(lanes); });
        case Algorithm::single:
            return find_one_each<L>(
                hits, config, bounds, config.single.count_window_mm, rings,
                [&](const LaneHits<L>& lanes) { return fit_single<L>(lanes, config.single, bounds); });
        case Algorithm::histogram8x8:
        case Algorithm::histogram:
            return find_each<L>(hits, config, rings, [&](EventHits& event, EventRings& out) {
                find_by_histogram<L>(event, config, bounds, algorithm == Algorithm::histogram, out);
            });
        case Algorithm::almagest:
            return find_each<L>(hits, config, rings, [&](EventHits& event, EventRings& out) {
                find_by_almagest<L>(event, config, bounds, out);
            });
        case Algorithm::multiring:
            return;
    }
}

template <class L>
ANELLO_HD void find_rings(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) {
    const Bounds bounds = bounds_of<L>(config.acceptance);
    if (config.algorithm == Algorithm::multiring) return find_tiered<L>(hits, config, bounds, rings);
    find_in_one_tier<L>(config.algorithm, config, bounds, hits, rings);
}

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trigger/refit.kernel.hpp"
#include "trigger/single_ring.kernel.hpp"

/// The default finder, in two tiers: a single-ring fit with one event per lane, and for events that it does not explain
/// a pool of candidates, the best cover of the hits, and a common refit.
namespace anello::trigger {

template <class L>
ANELLO_LANE void write_ring(EventRings& out, const Acceptance& acceptance, float a, float b, float r, float n_hits) {
    if (out.n_rings == max_rings_per_event) {
        out.flags |= rings_truncated;
        return;
    }
    out.ring[out.n_rings++] = {a * unit_mm + acceptance.centre_x_mm, b * unit_mm + acceptance.centre_y_mm, r * unit_mm,
                               static_cast<std::uint16_t>(n_hits + 0.5f)};
}

template <class L>
ANELLO_HD void find_many(const EventHits& hits, const RingFinderConfig& config, const Bounds& bounds, EventRings& out) {
    const MultiRingParameters& p = config.multiring;
    if (hits.n < static_cast<int>(p.min_hits)) return;
    Candidates candidates, pool;
    const int groups = static_cast<int>(hits.n > static_cast<int>(p.many_hits) ? p.groups_many : p.groups);
    candidates.n = groups * group_size;
    for (int group = 0; group < groups; ++group) seed_group<L>(hits, p, bounds, group, group * group_size, candidates);
    refine<L>(hits, p, bounds, candidates);
    if (keep_distinct<L>(candidates, p, pool) == 0) return;
    ScoreTable table;
    score_candidates<L>(hits, pool, p, table);
    RingSet rings;
    rings.n = 0;
    for (std::uint64_t chosen = best_cover<L>(hits, pool, p, table); chosen != 0; chosen &= chosen - 1) {
        const int k = __builtin_ctzll(chosen);
        rings.a[rings.n] = pool.a[k];
        rings.b[rings.n] = pool.b[k];
        rings.r[rings.n++] = pool.r[k];
    }
    refit<L>(hits, p, rings);
    using S = typename L::Scalar;
    for (int k = 0; k < rings.n; ++k)
        if (lies_within<S>({rings.a[k], rings.b[k], rings.r[k]}, bounds))
            write_ring<L>(out, config.acceptance, rings.a[k], rings.b[k], rings.r[k], rings.own[k]);
}

/// One lane's worth of events, both tiers.
template <class L>
ANELLO_HD void find_tiered(const HitsView& hits, std::uint32_t first, const RingFinderConfig& config,
                           const Bounds& bounds, EventRings* rings) {
    const SingleParameters& p = config.single;
    LaneHits<L> lanes;
    load_lanes<L>(hits, first, config.acceptance, lanes);
    const Circles<L> c = fit_single<L>(lanes, p, bounds);
    alignas(64) float a[L::width], b[L::width], r[L::width], near[L::width];
    L::store(a, c.a);
    L::store(b, c.b);
    L::store(r, c.r);
    const auto explained = count_near<L>(lanes, c, p.count_window_mm / unit_mm);
    L::store(near, explained);
    const auto unexplained = L::load(lanes.n) - explained;
    const auto enough = L::less(L::set(static_cast<float>(p.min_ring_hits) - 0.5f), explained);
    const auto few = L::less(unexplained, L::set(static_cast<float>(p.max_unexplained) + 0.5f));
    const auto fewer = L::less(unexplained, explained * p.max_unexplained_share);
    const std::uint32_t accepted = L::bits(L::both(L::both(enough, lies_within<L>(c, bounds)), L::both(few, fewer)));
    for (int lane = 0; lane < L::width && first + static_cast<std::uint32_t>(lane) < hits.n_events; ++lane) {
        const std::uint32_t event = first + static_cast<std::uint32_t>(lane);
        EventRings& out = rings[event];
        out.n_rings = 0;
        out.flags = lanes.flags[lane];
        if ((accepted >> lane & 1) != 0) {
            write_ring<L>(out, config.acceptance, a[lane], b[lane], r[lane], near[lane]);
            continue;
        }
        EventHits one;
        load_hits<L>(span_of<L>(hits, event), config.acceptance, one, out.flags);
        find_many<L>(one, config, bounds, out);
    }
}

}  // namespace anello::trigger

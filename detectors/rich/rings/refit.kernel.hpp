// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/cover.kernel.hpp"

/// The chosen rings fitted together: expectation-maximisation with geometric Gauss-Newton steps; lanes are hits.
namespace anello::rich {

struct RingSet {
    float a[max_chosen], b[max_chosen], r[max_chosen];
    float own[max_chosen];  ///< hits that belong to the ring, softly
    int n;
};

/// Per ring and hit: the direction, the miss, the weight.
struct alignas(64) RefitTable {
    float cosine[max_chosen][max_hits_per_event], sine[max_chosen][max_hits_per_event];
    float miss[max_chosen][max_hits_per_event], weight[max_chosen][max_hits_per_event];
    float share[max_hits_per_event];  ///< 1 / sum of the weights of a hit
};

template <class L>
ANELLO_HD void expect(const EventHits& hits, const RingSet& rings, float window, float flatness, float background,
                      RefitTable& table) {
    using F = typename L::F;
    const float scale = __builtin_sqrtf(flatness) / window;
    for (int at = 0; at < hits.n; at += L::width) {
        const F hit_u = L::load(hits.u + at), hit_v = L::load(hits.v + at);
        const auto present = L::less(L::load(hits.z + at), L::set(far_away));
        F sum = L::set(background);
        for (int k = 0; k < rings.n; ++k) {
            const F u = hit_u - rings.a[k], v = hit_v - rings.b[k], d2 = u * u + v * v + 1e-7f;
            const F inverse = L::rsqrt(d2), miss = d2 * inverse - rings.r[k];
            const F weight = L::select(present, flat_top<L>(miss * scale, flatness), L::set(0));
            L::store(table.cosine[k] + at, u * inverse);
            L::store(table.sine[k] + at, v * inverse);
            L::store(table.miss[k] + at, miss);
            L::store(table.weight[k] + at, weight);
            sum = sum + weight * weight;
        }
        L::store(table.share + at, L::rcp(sum));
    }
}

template <class L>
ANELLO_HD void maximise(const EventHits& hits, RingSet& rings, const RefitTable& table, float stride) {
    using F = typename L::F;
    using S = typename L::Scalar;
    for (int k = 0; k < rings.n; ++k) {
        GeometricSums<L> lanes;
        F own = L::set(0);
        for (int at = 0; at < hits.n; at += L::width) {
            const F weight = L::load(table.weight[k] + at);
            const F part = weight * weight * L::load(table.share + at);
            own = own + part;
            lanes.add(weight * part, L::load(table.cosine[k] + at), L::load(table.sine[k] + at),
                      L::load(table.miss[k] + at));
        }
        GeometricSums<S> sums;
        sums.s = L::sum(lanes.s);
        sums.c = L::sum(lanes.c);
        sums.q = L::sum(lanes.q);
        sums.cc = L::sum(lanes.cc);
        sums.cq = L::sum(lanes.cq);
        sums.ce = L::sum(lanes.ce);
        sums.qe = L::sum(lanes.qe);
        sums.e = L::sum(lanes.e);
        rings.own[k] = is_spread<S>(sums) ? L::sum(own) : 0;
        const Circles<S> step = step_of<S>(sums, 0.3f);
        rings.a[k] += stride * step.a;
        rings.b[k] += stride * step.b;
        rings.r[k] += stride * step.r;
    }
}

/// Drops rings with too few hits of their own.
template <class L>
ANELLO_HD void drop_poor(RingSet& rings, float least) {
    int n = 0;
    for (int k = 0; k < rings.n; ++k) {
        rings.a[n] = rings.a[k];
        rings.b[n] = rings.b[k];
        rings.r[n] = rings.r[k];
        rings.own[n] = rings.own[k];
        n += rings.own[k] >= least;
    }
    rings.n = n;
}

template <class L>
ANELLO_HD void refit(const EventHits& hits, const MultiRingParameters& p, RingSet& rings) {
    ANELLO_SHARED(L, RefitTable, table);
    for (std::uint32_t step = 0; step < p.refit_steps && rings.n > 0; ++step) {
        expect<L>(hits, rings, p.refit_window_mm / unit_mm, p.refit_flatness, p.refit_background, table);
        maximise<L>(hits, rings, table, p.refit_stride);
        drop_poor<L>(rings, p.min_own_hits);
    }
}

}  // namespace anello::rich

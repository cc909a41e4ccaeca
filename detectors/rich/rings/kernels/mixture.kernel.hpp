// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/cover.kernel.hpp"
#include "rich/rings/kernels/likelihood.kernel.hpp"

/// Fits the rings of an event together by expectation-maximisation, with geometric steps by Fisher scoring. Lanes are
/// hits.
namespace anello::rich {

struct RingSet {
    float a[max_chosen], b[max_chosen], r[max_chosen];
    float own[max_chosen];  ///< sum of the hits' probabilities to belong to the ring
    int n;
};

/// A set of rings and its quality: the logarithm of the likelihood ratio to "no ring".
struct RingFit {
    RingSet rings;
    float likelihood;
};

/// Direction of each hit from each ring's centre. Threads of a device have little memory, and compute it again.
template <bool is_kept>
struct HitDirections {
    float cosine[max_chosen][max_hits_per_event], sine[max_chosen][max_hits_per_event];
};
template <>
struct HitDirections<false> {};

/// For each ring and hit: the step that the hit contributes, and the odds of this ring to noise.
template <class L>
struct alignas(64) MixtureTable : HitDirections<!Team<L>::is_of_threads> {
    float step[max_chosen][max_hits_per_event], odds[max_chosen][max_hits_per_event];
    float total[max_hits_per_event];  ///< odds of all rings, and 1 for noise
};

template <class L>
ANELLO_HD void expect(const EventHits& hits, const RingSet& rings, const MixtureModel& model, MixtureTable<L>& table) {
    using F = typename L::F;
    using S = typename L::Scalar;
    const float inverse_width = 1 / model.width, stride = model.width / model.shape.information;
    ANELLO_ROLLED
    for (int at = 0; at < hits.n; at += L::width) {
        const F hit_u = L::load(hits.u + at), hit_v = L::load(hits.v + at);
        const auto present = L::less(L::load(hits.z + at), L::set(far_away));
        F total = L::set(1);
        ANELLO_ROLLED
        for (int k = 0; k < rings.n; ++k) {
            const Direction<L> to(hit_u - rings.a[k], hit_v - rings.b[k]);
            const F x = (to.distance - rings.r[k]) * inverse_width;
            const Profile<L> profile(model.shape, x * x);
            const F odds = L::select(present, profile.density() * (model.odds / S::max(rings.r[k], 0.1f)), L::set(0));
            if constexpr (!Team<L>::is_of_threads) {
                L::store(table.cosine[k] + at, to.cosine);
                L::store(table.sine[k] + at, to.sine);
            }
            L::store(table.step[k] + at, profile.fall(x) * stride);
            L::store(table.odds[k] + at, odds);
            total = total + odds;
        }
        L::store(table.total + at, total);
    }
}

template <class L>
ANELLO_HD void maximise(const EventHits& hits, const MixtureModel& model, const MixtureTable<L>& table, float stride,
                        RingSet& rings) {
    using F = typename L::F;
    using S = typename L::Scalar;
    ANELLO_ROLLED
    for (int k = 0; k < rings.n; ++k) {
        GeometricSums<L> lanes;
        ANELLO_ROLLED
        for (int at = 0; at < hits.n; at += L::width) {
            const F share = L::load(table.odds[k] + at) * L::rough_rcp(L::load(table.total + at));
            if constexpr (Team<L>::is_of_threads) {
                const Direction<L> to(L::load(hits.u + at) - rings.a[k], L::load(hits.v + at) - rings.b[k]);
                lanes.add(share, to.cosine, to.sine, L::load(table.step[k] + at));
            } else {
                lanes.add(share, L::load(table.cosine[k] + at), L::load(table.sine[k] + at),
                          L::load(table.step[k] + at));
            }
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
        rings.own[k] = is_spread<S>(sums) ? sums.s : 0;
        const Circles<S> step = step_of<S>(sums, expectation_of<S>(model, rings.r[k]));
        rings.a[k] += stride * step.a;
        rings.b[k] += stride * step.b;
        rings.r[k] += stride * step.r;
    }
}

/// The logarithm of the likelihood ratio to "no ring".
template <class L>
ANELLO_HD float log_likelihood(const EventHits& hits, const RingSet& rings, const MixtureModel& model,
                               const MixtureTable<L>& table) {
    auto sum = L::set(0);
    ANELLO_ROLLED
    for (int at = 0; at < hits.n; at += L::width) sum = sum + natural_log<L>(L::load(table.total + at));
    float cost = 0;
    ANELLO_ROLLED
    for (int k = 0; k < rings.n; ++k) cost += cost_of<typename L::Scalar>(model, rings.r[k]);
    return L::sum(sum) - cost;
}

/// Log-likelihood that would be lost without ring k.
template <class L>
ANELLO_HD float gain_of(const EventHits& hits, const MixtureTable<L>& table, int k) {
    auto sum = L::set(0);
    ANELLO_ROLLED
    for (int at = 0; at < hits.n; at += L::width) {
        const auto total = L::load(table.total + at), without = L::max(total - L::load(table.odds[k] + at), L::set(1));
        sum = sum + natural_log<L>(total * L::rcp(without));
    }
    return L::sum(sum);
}

template <class L>
ANELLO_LANE void remove_ring(RingSet& rings, int k) {
    const int last = --rings.n;
    rings.a[k] = rings.a[last];
    rings.b[k] = rings.b[last];
    rings.r[k] = rings.r[last];
    rings.own[k] = rings.own[last];
}

/// Removes rings with too few hits of their own.
template <class L>
ANELLO_LANE void drop_poor(RingSet& rings, float least) {
    ANELLO_ROLLED
    for (int k = rings.n - 1; k >= 0; --k)
        if (!(rings.own[k] >= least)) remove_ring<L>(rings, k);
}

/// Moves the rings to the nearest maximum of the likelihood. The returned likelihood is that before the last step: it
/// is good enough to compare sets of rings, and one more expectation would cost as much as a step.
template <class L>
ANELLO_HD RingFit fit_mixture(const EventHits& hits, const MultiRingParameters& p, RingSet rings,
                              MixtureTable<L>& table) {
    RingFit fit{rings, 0};
    const auto last = static_cast<float>(p.refit_steps);
    ANELLO_ROLLED
    for (std::uint32_t step = 1; step <= p.refit_steps && fit.rings.n > 0; ++step) {
        const float to_go = (last - static_cast<float>(step)) / last;
        const MixtureModel model = model_of<L>(p, 1 + p.refit_widening * to_go);
        expect<L>(hits, fit.rings, model, table);
        fit.likelihood = step == p.refit_steps ? log_likelihood<L>(hits, fit.rings, model, table) : 0;
        maximise<L>(hits, model, table, p.refit_stride, fit.rings);
        drop_poor<L>(fit.rings, p.min_own_hits);
    }
    return fit;
}

/// Returns the second of two nearly equal rings; negative: there is none. When a ring has many more hits than the
/// yield, two rings at the same place explain them better.
template <class L>
ANELLO_HD int twin_of(const RingSet& rings, float near2) {
    using S = typename L::Scalar;
    int twin = -1;
    ANELLO_ROLLED
    for (int k = 1; k < rings.n; ++k) {
        const Circles<S> ring{rings.a[k], rings.b[k], rings.r[k]};
        ANELLO_ROLLED
        for (int j = 0; j < k; ++j) twin = apart2<S>(ring, rings.a[j], rings.b[j], rings.r[j]) < near2 ? k : twin;
    }
    return twin;
}

/// Removes the ring with the smallest gain while this is below a ring's cost, and moves the others a last time.
template <class L>
ANELLO_HD void settle(const EventHits& hits, const MultiRingParameters& p, RingSet& rings, MixtureTable<L>& table) {
    const MixtureModel model = model_of<L>(p, 1);
    const float twin2 = p.twin_mm / unit_mm * (p.twin_mm / unit_mm);
    ANELLO_ROLLED
    while (rings.n > 0) {
        expect<L>(hits, rings, model, table);
        int poorest = -1;
        float least = 0;
        ANELLO_ROLLED
        for (int k = 0; k < rings.n; ++k) {
            const float gain = gain_of<L>(hits, table, k) - cost_of<typename L::Scalar>(model, rings.r[k]);
            poorest = gain < least ? k : poorest;
            least = gain < least ? gain : least;
        }
        maximise<L>(hits, model, table, p.refit_stride, rings);
        poorest = poorest < 0 ? twin_of<L>(rings, twin2) : poorest;
        if (poorest < 0) break;
        remove_ring<L>(rings, poorest);
    }
    drop_poor<L>(rings, p.min_own_hits);
}

}  // namespace anello::rich

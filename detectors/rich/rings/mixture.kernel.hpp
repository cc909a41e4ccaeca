// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/geometry.hpp"
#include "rich/rings/cover.kernel.hpp"

/// The rings of an event fitted together. Each hit is background or belongs to one of the rings: its likelihood is
///   noise density + sum over rings of (hits of a ring / its circumference) x profile(miss),
/// and the rings are moved by expectation-maximisation, with geometric steps by Fisher scoring. Lanes are hits.
namespace anello::rich {

struct RingSet {
    float a[max_chosen], b[max_chosen], r[max_chosen];
    float own[max_chosen];  ///< hits that belong to the ring, softly
    int n;
};

/// A set of rings and how well it explains the hits: the logarithm of the likelihood's ratio to "no ring".
struct RingFit {
    RingSet rings;
    float likelihood;
};

/// Where a photon may hit a photomultiplier, seen from the centre of the tube that is hit: the chords of a disc,
/// convolved with the smear. With x the miss in widths, 2 rms of that, the density is near h^2, h = 1 / (1 + second x^2
/// + sixth x^6): within 5 % of its middle for smears of 0.13 to 0.35 of the tube's radius. Its tails fall less steeply
/// than a Gaussian's, so that a hit that is misplaced for other reasons does no harm.
struct ProfileShape {
    float second, sixth;
    float middle;       ///< density there, per width
    float information;  ///< that one hit has of its ring's place, per width^2
};

template <class L>
ANELLO_LANE ProfileShape shape_of(float smear_share) {
    const float s = smear_share < 0.1f ? 0.1f : smear_share > 0.35f ? 0.35f : smear_share;
    return {2.38f * s - 0.176f, 1.7f - 2.27f * s, 0.61f + 0.32f * s, 1 / (0.19f + 0.12f * s)};
}

template <class L>
struct Profile {
    typename L::F h, slope;  ///< slope: -dh/dx / (h^2 x)

    ANELLO_LANE Profile(const ProfileShape& shape, typename L::F x2) {
        const auto x4 = x2 * x2;
        h = L::rough_rcp(1.0f + (shape.second + shape.sixth * x4) * x2);
        slope = 2 * shape.second + (6 * shape.sixth) * x4;
    }
    ANELLO_LANE typename L::F density() const { return h * h; }  ///< 1 in the middle
    /// -d log density / dx.
    ANELLO_LANE typename L::F fall(typename L::F x) const { return 2.0f * x * h * slope; }
};

/// What yield, noise and resolution say about one hit, in kernel units.
struct MixtureModel {
    ProfileShape shape;
    float width;
    float odds;       ///< times (1 / radius): ring against noise, for a hit in the middle of the profile
    float ring_cost;  ///< likelihood that a ring must bring
};

/// Where noise hits stand, in the fit frame: PMTs on a hexagonal lattice.
inline constexpr float disk_area_mm2 = static_cast<float>(n_pmts / n_disks) * pmt_pitch_mm * pmt_pitch_mm * 0.8660254f;

/// `widening`: of the profile, so that the first steps see beyond its edges.
template <class L>
ANELLO_LANE MixtureModel model_of(const MultiRingParameters& p, float widening) {
    constexpr float two_pi = 6.2831853f, area = disk_area_mm2 / (unit_mm * unit_mm);
    const float variance_mm2 = p.pmt_radius_mm * p.pmt_radius_mm / 4 + p.smear_mm * p.smear_mm;
    const float width = 2 * __builtin_sqrtf(variance_mm2) / unit_mm * widening;
    const ProfileShape shape = shape_of<L>(p.smear_mm / p.pmt_radius_mm);
    return {shape, width, p.yield_hits * area * shape.middle / (two_pi * width * p.noise_hits),
            p.yield_hits + p.ring_prior};
}

/// Per ring and hit, the direction from the ring's centre. Threads of a device have little memory, and find it again.
template <bool is_kept>
struct HitDirections {
    float cosine[max_chosen][max_hits_per_event], sine[max_chosen][max_hits_per_event];
};
template <>
struct HitDirections<false> {};

/// Per ring and hit: the step that it asks for, the odds of this ring against noise.
template <class L>
struct alignas(64) MixtureTable : HitDirections<!Team<L>::is_of_threads> {
    float step[max_chosen][max_hits_per_event], odds[max_chosen][max_hits_per_event];
    float total[max_hits_per_event];  ///< odds of all rings, and 1 for noise
};

template <class L>
struct Direction {
    typename L::F cosine, sine, distance;

    /// From a ring's centre, which it stands so far from.
    ANELLO_LANE Direction(typename L::F u, typename L::F v) {
        const typename L::F d2 = u * u + v * v + 1e-7f, inverse = L::rsqrt(d2);
        cosine = u * inverse;
        sine = v * inverse;
        distance = d2 * inverse;
    }
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
ANELLO_HD void maximise(const EventHits& hits, const MixtureTable<L>& table, float stride, RingSet& rings) {
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
        const Circles<S> step = step_of<S>(sums, 0.3f);
        rings.a[k] += stride * step.a;
        rings.b[k] += stride * step.b;
        rings.r[k] += stride * step.r;
    }
}

/// Natural logarithm of a normal number > 0, to 1e-5.
template <class L>
ANELLO_LANE typename L::F natural_log(typename L::F x) {
    typename L::F mantissa;
    const auto exponent = L::split(x, mantissa);
    const auto t = mantissa - 1.5f;
    return 0.6931472f * exponent +
           (0.4054568f + t * (0.6666837f + t * (-0.2216332f + t * (0.0982315f + t * (-0.0554593f + t * 0.0304490f)))));
}

/// The logarithm of the likelihood's ratio to "no ring".
template <class L>
ANELLO_HD float log_likelihood(const EventHits& hits, const RingSet& rings, const MixtureModel& model,
                               const MixtureTable<L>& table) {
    auto sum = L::set(0);
    ANELLO_ROLLED
    for (int at = 0; at < hits.n; at += L::width) sum = sum + natural_log<L>(L::load(table.total + at));
    return L::sum(sum) - static_cast<float>(rings.n) * model.ring_cost;
}

/// What the likelihood would lose without ring k.
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

/// Drops rings with too few hits of their own.
template <class L>
ANELLO_LANE void drop_poor(RingSet& rings, float least) {
    ANELLO_ROLLED
    for (int k = rings.n - 1; k >= 0; --k)
        if (!(rings.own[k] >= least)) remove_ring<L>(rings, k);
}

/// The rings moved to where the likelihood is greatest nearby. The likelihood is that before the last step: it is what
/// sets of rings are compared by, and one more expectation would cost as much as a step.
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
        maximise<L>(hits, table, p.refit_stride, fit.rings);
        drop_poor<L>(fit.rings, p.min_own_hits);
    }
    return fit;
}

/// Drops the ring that brings least, as long as one does not bring what a ring costs, and moves the others a last time.
template <class L>
ANELLO_HD void settle(const EventHits& hits, const MultiRingParameters& p, RingSet& rings, MixtureTable<L>& table) {
    const MixtureModel model = model_of<L>(p, 1);
    ANELLO_ROLLED
    while (rings.n > 0) {
        expect<L>(hits, rings, model, table);
        int poorest = 0;
        float least = model.ring_cost;
        ANELLO_ROLLED
        for (int k = 0; k < rings.n; ++k) {
            const float gain = gain_of<L>(hits, table, k);
            poorest = gain < least ? k : poorest;
            least = gain < least ? gain : least;
        }
        maximise<L>(hits, table, p.refit_stride, rings);
        if (least == model.ring_cost) break;
        remove_ring<L>(rings, poorest);
    }
    drop_poor<L>(rings, p.min_own_hits);
}

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/hd.hpp"
#include "rich/rings/kernels/event_hits.kernel.hpp"

/// Circle fits, one circle per lane. Lengths are in units of 100 mm.
namespace anello::rich {

template <class L>
struct Circles {
    typename L::F a, b, r;  ///< centre and radius
};

/// Squared distance to another circle, from the differences in centre and radius.
template <class L>
ANELLO_LANE typename L::F apart2(const Circles<L>& c, float a, float b, float r) {
    const auto da = c.a - a, db = c.b - b, dr = c.r - r;
    return da * da + db * db + dr * dr;
}

/// Limits of accepted circles, in kernel units (the origin is the middle of the acceptance).
struct Bounds {
    float centre_max, r_min, r_max;
};

template <class L>
ANELLO_LANE typename L::M lies_within(const Circles<L>& c, const Bounds& bounds) {
    const auto centre2 = c.a * c.a + c.b * c.b;
    const auto in_centre = L::less(centre2, L::set(bounds.centre_max * bounds.centre_max));
    return L::both(in_centre, L::both(L::less(L::set(bounds.r_min), c.r), L::less(c.r, L::set(bounds.r_max))));
}

/// (d^2 - r^2) / (2 r window) as a linear form: the radial miss in units of the window, to first order in miss / r.
template <class L>
struct LinearMiss {
    typename L::F u, v, z, one;

    ANELLO_LANE typename L::F at(typename L::F hit_u, typename L::F hit_v, typename L::F hit_z) const {
        return u * hit_u + (v * hit_v + (z * hit_z + one));
    }
};

template <class L>
ANELLO_LANE LinearMiss<L> linear_miss(const Circles<L>& c, float window) {
    const auto k = L::rcp(c.r * (2 * window));
    const auto k2 = k * -2.0f;
    return {c.a * k2, c.b * k2, k, (c.a * c.a + c.b * c.b - c.r * c.r) * k};
}

/// Flat-top weight min(1, max(0, flatness - scaled_miss^2)), where scaled_miss is sqrt(flatness) at the edge of the
/// window: the residuals of a pixelated detector are box-like.
template <class L>
ANELLO_LANE typename L::F flat_top(typename L::F scaled_miss, float flatness) {
    const auto t = L::set(flatness) - scaled_miss * scaled_miss;
    return L::min(L::set(1), L::max(L::set(0), t));
}

/// Sums for one weighted algebraic fit.
template <class L>
struct AlgebraicSums {
    using F = typename L::F;
    F s = L::set(0), u = s, v = s, uu = s, uv = s, vv = s, uz = s, vz = s;

    ANELLO_LANE void add(F w, F hit_u, F hit_v, F hit_z) {
        const F wu = w * hit_u, wv = w * hit_v;
        s = s + w;
        u = u + wu;
        v = v + wv;
        uu = uu + wu * hit_u;
        uv = uv + wu * hit_v;
        vv = vv + wv * hit_v;
        uz = uz + wu * hit_z;
        vz = vz + wv * hit_z;
    }
};

/// The circle that minimises the weighted sum of (d^2 - r^2)^2 (Kasa 1976, Crawford 1983): a linear 2x2 system. Keeps
/// `old` if the hits do not determine a circle (fewer than three, collinear, all in one place).
template <class L>
ANELLO_HD Circles<L> solve(const AlgebraicSums<L>& sums, const Circles<L>& old) {
    using F = typename L::F;
    const F inverse = L::rcp(L::max(sums.s, L::set(1e-6f)));
    const F mean_u = sums.u * inverse, mean_v = sums.v * inverse, mean_z = (sums.uu + sums.vv) * inverse;
    const F uu = sums.uu - sums.u * mean_u, uv = sums.uv - sums.u * mean_v, vv = sums.vv - sums.v * mean_v;
    const F uz = sums.uz - sums.u * mean_z, vz = sums.vz - sums.v * mean_z;
    const F determinant = uu * vv - uv * uv;
    // Limit relative to the spread; below it the hits are on a line within single precision.
    const F floor = (uu + vv) * (uu + vv) * 1e-4f + 1e-6f;
    const F half = 0.5f * L::rcp(L::max(determinant, floor));
    Circles<L> c;
    c.a = (uz * vv - vz * uv) * half;
    c.b = (vz * uu - uz * uv) * half;
    const F r2 = mean_z - 2.0f * (c.a * mean_u + c.b * mean_v) + c.a * c.a + c.b * c.b;
    c.r = L::sqrt(L::max(r2, L::set(1e-6f)));
    const auto good = L::both(L::less(floor, determinant), L::less(L::set(2.5f), sums.s));
    return {L::select(good, c.a, old.a), L::select(good, c.b, old.b), L::select(good, c.r, old.r)};
}

/// Keeps an iterate in a range in which windows make sense; the end of the fit decides whether it is a ring.
template <class L>
ANELLO_LANE Circles<L> clamp(const Circles<L>& c, const Bounds& bounds) {
    const auto edge = L::set(bounds.centre_max), minus = L::set(-bounds.centre_max);
    return {L::min(edge, L::max(minus, c.a)), L::min(edge, L::max(minus, c.b)),
            L::min(L::set(bounds.r_max), L::max(L::set(bounds.r_min), c.r))};
}

/// Sums for one geometric Gauss-Newton step, which minimises the weighted sum of (d - r)^2.
template <class L>
struct GeometricSums {
    using F = typename L::F;
    F s = L::set(0), c = s, q = s, cc = s, cq = s, ce = s, qe = s, e = s;

    /// Adds a hit: cosine and sine of its direction from the centre, miss = d - r.
    ANELLO_LANE void add(F w, F cosine, F sine, F miss) {
        const F wc = w * cosine, wq = w * sine;
        s = s + w;
        c = c + wc;
        q = q + wq;
        cc = cc + wc * cosine;
        cq = cq + wc * sine;
        ce = ce + wc * miss;
        qe = qe + wq * miss;
        e = e + w * miss;
    }
};

/// False if the hits' directions from the centre are (nearly) on one line: hits in a row, or in one place, are not a
/// ring. The compared value is 1/4 for a full ring, 1/700 for a quarter of one.
template <class L>
ANELLO_LANE typename L::M is_spread(const GeometricSums<L>& sums) {
    const auto uu = sums.cc * sums.s - sums.c * sums.c, uv = sums.cq * sums.s - sums.c * sums.q;
    const auto vv = (sums.s - sums.cc) * sums.s - sums.q * sums.q, s2 = sums.s * sums.s;
    return L::less(s2 * s2 * 7e-4f, uu * vv - uv * uv);
}

/// Prior knowledge of a radius, in the form of hits all around that miss the circle by a common distance.
template <class L>
struct RadiusExpectation {
    typename L::F hits = L::set(0), miss = L::set(0);
};

inline constexpr float max_step = 0.3f;

/// The step (da, db, dr) from the sums above. It is limited, and zero if the hits do not determine it.
template <class L>
ANELLO_HD Circles<L> step_of(const GeometricSums<L>& sums, const RadiusExpectation<L>& expected = {}) {
    using F = typename L::F;
    const F inverse = L::rcp(L::max(sums.s, L::set(1e-6f)) + expected.hits);
    const F e = sums.e + expected.hits * expected.miss;
    const F a00 = sums.cc - sums.c * sums.c * inverse + 1e-3f;
    const F a01 = sums.cq - sums.c * sums.q * inverse;
    const F a11 = (sums.s - sums.cc) - sums.q * sums.q * inverse + 1e-3f;
    const F b0 = sums.ce - sums.c * e * inverse, b1 = sums.qe - sums.q * e * inverse;
    const F determinant = L::rcp(L::max(a00 * a11 - a01 * a01, L::set(1e-6f)));
    const F most = L::set(max_step), least = L::set(-max_step);
    const F da = L::min(most, L::max(least, (b0 * a11 - b1 * a01) * determinant));
    const F db = L::min(most, L::max(least, (b1 * a00 - b0 * a01) * determinant));
    const F dr = L::min(most, L::max(least, (e - sums.c * da - sums.q * db) * inverse));
    const auto good = L::less(L::set(2.5f), sums.s);
    return {L::select(good, da, L::set(0)), L::select(good, db, L::set(0)), L::select(good, dr, L::set(0))};
}

}  // namespace anello::rich

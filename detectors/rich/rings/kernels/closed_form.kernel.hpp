// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/circle_fit.kernel.hpp"

/// Fits one circle to all hits of an event in closed form; one event per lane.
namespace anello::rich {

/// Crawford 1983: all hits have weight one. For fewer than three hits, or hits on a line, the radius is 0.
template <class L>
ANELLO_HD Circles<L> fit_crawford(const LaneHits<L>& hits) {
    AlgebraicSums<L> sums;
    const auto n = L::load(hits.n);
    for (int i = 0; i < hits.n_max; ++i) {
        const auto w = L::select(L::less(L::set(static_cast<float>(i)), n), L::set(1), L::set(0));
        sums.add(w, L::load(hits.u[i]), L::load(hits.v[i]), L::load(hits.z[i]));
    }
    return solve<L>(sums, {L::set(0), L::set(0), L::set(0)});
}

/// Central moments divided by the number of hits.
template <class L>
struct Moments {
    using F = typename L::F;
    F mean_u, mean_v, uu, vv, uv, uz, vz, zz;
};

template <class L>
ANELLO_HD Moments<L> central_moments(const LaneHits<L>& hits) {
    using F = typename L::F;
    const F n = L::load(hits.n), inverse = L::rcp(L::max(n, L::set(1))), zero = L::set(0);
    Moments<L> m{zero, zero, zero, zero, zero, zero, zero, zero};
    for (int i = 0; i < hits.n_max; ++i) {  // absent hits are at the origin
        m.mean_u = m.mean_u + L::load(hits.u[i]);
        m.mean_v = m.mean_v + L::load(hits.v[i]);
    }
    m.mean_u = m.mean_u * inverse;
    m.mean_v = m.mean_v * inverse;
    for (int i = 0; i < hits.n_max; ++i) {
        const auto present = L::less(L::set(static_cast<float>(i)), n);
        const F u = L::select(present, L::load(hits.u[i]) - m.mean_u, zero);
        const F v = L::select(present, L::load(hits.v[i]) - m.mean_v, zero);
        const F u2 = u * u, v2 = v * v, z = u2 + v2;
        m.uu = m.uu + u2;
        m.vv = m.vv + v2;
        m.uv = m.uv + u * v;
        m.uz = m.uz + u * z;
        m.vz = m.vz + v * z;
        m.zz = m.zz + z * z;
    }
    m.uu = m.uu * inverse;
    m.vv = m.vv * inverse;
    m.uv = m.uv * inverse;
    m.uz = m.uz * inverse;
    m.vz = m.vz * inverse;
    m.zz = m.zz * inverse;
    return m;
}

/// Finds the root that Taubin's fit needs, the smallest of the polynomial, by Newton's method starting at zero.
template <class L>
ANELLO_HD typename L::F taubin_root(const Moments<L>& m) {
    using F = typename L::F;
    const F z = m.uu + m.vv, covariance = m.uu * m.vv - m.uv * m.uv, var_z = m.zz - z * z;
    const F a3 = 4.0f * z, a2 = -3.0f * z * z - m.zz;
    const F a1 = var_z * z + 4.0f * covariance * z - m.uz * m.uz - m.vz * m.vz;
    const F a0 = m.uz * (m.uz * m.vv - m.vz * m.uv) + m.vz * (m.vz * m.uu - m.uz * m.uv) - var_z * covariance;
    F root = L::set(0);
    for (int step = 0; step < 6; ++step) {
        const F value = a0 + root * (a1 + root * (a2 + root * a3));
        const F slope = a1 + root * (2.0f * a2 + 3.0f * root * a3);
        const auto steep = L::less(L::set(1e-12f), L::abs(slope));
        const F next = root - value / L::select(steep, slope, L::set(1));
        root = L::select(L::both(steep, L::less(root, next)), next, root);
    }
    return root;
}

/// Taubin 1991: the algebraic fit weighted by the gradient. Unlike Crawford's it is not biased to small circles.
template <class L>
ANELLO_HD Circles<L> fit_taubin(const LaneHits<L>& hits) {
    using F = typename L::F;
    const Moments<L> m = central_moments<L>(hits);
    const F root = taubin_root<L>(m), z = m.uu + m.vv;
    const F determinant = root * root - root * z + (m.uu * m.vv - m.uv * m.uv);
    const F floor = z * z * 1e-4f + 1e-6f;
    const F half = 0.5f / L::max(determinant, floor);
    const F a = (m.uz * (m.vv - root) - m.vz * m.uv) * half, b = (m.vz * (m.uu - root) - m.uz * m.uv) * half;
    const F r = L::sqrt(a * a + b * b + z);
    const auto good = L::both(L::less(floor, determinant), L::less(L::set(2.5f), L::load(hits.n)));
    return {L::select(good, a + m.mean_u, L::set(0)), L::select(good, b + m.mean_v, L::set(0)),
            L::select(good, r, L::set(0))};
}

}  // namespace anello::rich

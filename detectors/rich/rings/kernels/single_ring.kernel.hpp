// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/circle_fit.kernel.hpp"
#include "rich/rings/kernels/closed_form.kernel.hpp"

/// Robust fit of one ring per event; one event per lane.
namespace anello::rich {

/// One step of iteratively re-weighted Crawford fits, with weights from the circle of the step before.
template <class L>
ANELLO_HD Circles<L> reweight_step(const LaneHits<L>& hits, const Circles<L>& c, float window, float flatness) {
    const LinearMiss<L> miss = linear_miss<L>(c, window / __builtin_sqrtf(flatness));
    AlgebraicSums<L> sums;
    for (int i = 0; i < hits.n_max; ++i) {
        const auto u = L::load(hits.u[i]), v = L::load(hits.v[i]), z = L::load(hits.z[i]);
        sums.add(flat_top<L>(miss.at(u, v, z), flatness), u, v, z);
    }
    return solve<L>(sums, c);
}

/// One geometric Gauss-Newton step; the radius is 0 if the hits near the circle do not determine one.
template <class L>
ANELLO_HD Circles<L> geometric_step(const LaneHits<L>& hits, const Circles<L>& c, float window, float flatness) {
    using F = typename L::F;
    GeometricSums<L> sums;
    const float scale = __builtin_sqrtf(flatness) / window;
    for (int i = 0; i < hits.n_max; ++i) {
        const F u = L::load(hits.u[i]) - c.a, v = L::load(hits.v[i]) - c.b, d2 = u * u + v * v + 1e-7f;
        const F inverse = L::rsqrt(d2), miss = d2 * inverse - c.r;
        const auto present = L::less(L::load(hits.z[i]), L::set(far_away));
        const F w = flat_top<L>(miss * scale, flatness);
        sums.add(L::select(present, w, L::set(0)), u * inverse, v * inverse, miss);
    }
    const Circles<L> step = step_of<L>(sums);
    return {c.a + step.a, c.b + step.b, L::select(is_spread<L>(sums), c.r + step.r, L::set(0))};
}

/// Counts the hits within `window` of the circle.
template <class L>
ANELLO_HD typename L::F count_near(const LaneHits<L>& hits, const Circles<L>& c, float window) {
    const LinearMiss<L> miss = linear_miss<L>(c, window);
    auto n = L::set(0);
    for (int i = 0; i < hits.n_max; ++i) {
        const auto m = L::abs(miss.at(L::load(hits.u[i]), L::load(hits.v[i]), L::load(hits.z[i])));
        n = n + L::select(L::less(m, L::set(1)), L::set(1), L::set(0));
    }
    return n;
}

/// Crawford's fit to all hits, then to those in ever narrower windows.
template <class L>
ANELLO_HD Circles<L> fit_in_windows(const LaneHits<L>& hits, const SingleParameters& p, const Bounds& bounds) {
    Circles<L> c = clamp<L>(fit_crawford<L>(hits), bounds);
    for (const float window_mm : p.window_mm)
        c = clamp<L>(reweight_step<L>(hits, c, window_mm / unit_mm, p.flatness), bounds);
    return c;
}

/// Crawford's fits as above, then geometric steps.
template <class L>
ANELLO_HD Circles<L> fit_single(const LaneHits<L>& hits, const SingleParameters& p, const Bounds& bounds) {
    Circles<L> c = fit_in_windows<L>(hits, p, bounds);
    for (std::uint32_t step = 0; step < p.geometric_steps; ++step)
        c = geometric_step<L>(hits, c, p.final_window_mm / unit_mm, p.flatness);
    return c;
}

}  // namespace anello::rich

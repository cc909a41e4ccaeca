// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/multi_ring.kernel.hpp"

/// The multi-ring histogram: for a grid of trial centres it makes histograms of the hit distances. The fullest bin is a
/// ring; Crawford's fit of its hits follows. The procedure is repeated with the other hits.
namespace anello::rich {

inline constexpr int grid_cells = 64;
inline constexpr int max_bins = 32;

/// A trial ring: hits with a distance in [inner, outer) from the centre.
struct Annulus {
    float a, b, inner, outer;
    int n;
};

/// Trial centres number `cell` in a grid of side x side squares around (a, b).
template <class L>
ANELLO_HD void fill_grid(float a, float b, float pitch, int side, float* cell_a, float* cell_b) {
    const float corner = 0.5f * static_cast<float>(side - 1);
    ANELLO_ROLLED
    for (int k = 0; k < grid_cells; ++k) {
        const bool used = k < side * side;
        cell_a[k] = used ? a + pitch * (static_cast<float>(k % side) - corner) : far_away;
        cell_b[k] = used ? b + pitch * (static_cast<float>(k / side) - corner) : 0;
    }
}

/// Returns the fullest bin of all cells (the first of equal ones); lanes are cells.
template <class L>
ANELLO_HD Annulus fullest_bin(const EventHits& hits, const float* cell_a, const float* cell_b, float r_min, float bin,
                              int n_bins) {
    using F = typename L::F;
    Annulus best{0, 0, 0, 0, 0};
    ANELLO_ROLLED
    for (int at = 0; at < grid_cells; at += L::width) {
        const F a = L::load(cell_a + at), b = L::load(cell_b + at);
        F count[max_bins];
        ANELLO_ROLLED
        for (int k = 0; k < n_bins; ++k) count[k] = L::set(0);
        ANELLO_ROLLED
        for (int i = 0; i < hits.n; ++i) {
            const F u = L::set(hits.u[i]) - a, v = L::set(hits.v[i]) - b, d = L::sqrt(u * u + v * v);
            ANELLO_ROLLED
            for (int k = 0; k < n_bins; ++k) {
                const auto above = L::less(d, L::set(r_min + bin * static_cast<float>(k + 1)));
                const auto below = L::less(d, L::set(r_min + bin * static_cast<float>(k)));
                count[k] = count[k] + L::select(above, L::select(below, L::set(0), L::set(1)), L::set(0));
            }
        }
        F most = L::set(0), bin_of_most = L::set(0);
        ANELLO_ROLLED
        for (int k = 0; k < n_bins; ++k) {
            const auto better = L::less(most, count[k]);
            most = L::select(better, count[k], most);
            bin_of_most = L::select(better, L::set(static_cast<float>(k)), bin_of_most);
        }
        if (L::greatest(most) <= static_cast<float>(best.n)) continue;
        alignas(64) float n[L::width], k[L::width];
        L::store(n, most);
        L::store(k, bin_of_most);
        ANELLO_ROLLED
        for (int lane = 0; lane < L::width; ++lane)
            if (n[lane] > static_cast<float>(best.n))
                best = {cell_a[at + lane], cell_b[at + lane], r_min + bin * k[lane], r_min + bin * (k[lane] + 1),
                        static_cast<int>(n[lane])};
    }
    return best;
}

/// Removes the hits of the annulus from `hits` and adds them to the sums of a fit.
template <class L>
ANELLO_HD AlgebraicSums<typename L::Scalar> take_hits(EventHits& hits, const Annulus& ring) {
    AlgebraicSums<typename L::Scalar> sums;
    int left = 0;
    ANELLO_ROLLED
    for (int i = 0; i < hits.n; ++i) {
        const float u = hits.u[i], v = hits.v[i], z = hits.z[i];
        const float d2 = (u - ring.a) * (u - ring.a) + (v - ring.b) * (v - ring.b);
        const bool inside = d2 >= ring.inner * ring.inner && d2 < ring.outer * ring.outer;
        sums.add(inside ? 1.0f : 0.0f, u, v, z);
        hits.u[left] = u;
        hits.v[left] = v;
        hits.z[left] = z;
        left += !inside;
    }
    hits.n = left;
    return sums;
}

template <class L>
ANELLO_HD int bins_for(float r_min, float r_max, float bin) {
    const int n = static_cast<int>((r_max - r_min) / bin + 0.999f);
    return n < max_bins ? n : max_bins;
}

template <class L>
ANELLO_HD void find_by_histogram(EventHits& hits, const RingFinderConfig& config, const Bounds& bounds, bool refine_2x2,
                                 EventRings& out) {
    using S = typename L::Scalar;
    const HistogramParameters& p = config.histogram;
    const float pitch = 2 * p.half_width_mm / unit_mm / 8, bin = p.bin_mm / unit_mm, fine = p.fine_bin_mm / unit_mm;
    alignas(64) float cell_a[grid_cells], cell_b[grid_cells];
    ANELLO_ROLLED
    while (hits.n >= static_cast<int>(p.threshold) && out.n_rings < max_rings_per_event) {
        fill_grid<L>(0, 0, pitch, 8, cell_a, cell_b);
        Annulus ring =
            fullest_bin<L>(hits, cell_a, cell_b, bounds.r_min, bin, bins_for<L>(bounds.r_min, bounds.r_max, bin));
        if (ring.n < static_cast<int>(p.threshold)) return;
        if (refine_2x2) {
            fill_grid<L>(ring.a, ring.b, pitch / 2, 2, cell_a, cell_b);
            const Annulus finer =
                fullest_bin<L>(hits, cell_a, cell_b, bounds.r_min, fine, bins_for<L>(bounds.r_min, bounds.r_max, fine));
            // The fine bin rarely has the whole ring, so half a bin on either side is included.
            if (finer.n > 0) ring = {finer.a, finer.b, finer.inner - fine / 2, finer.outer + fine / 2, finer.n};
        }
        const AlgebraicSums<S> sums = take_hits<L>(hits, ring);
        const Circles<S> c = solve<S>(sums, {0, 0, 0});
        if (lies_within<S>(c, bounds)) write_ring<L>(out, config.acceptance, c.a, c.b, c.r, sums.s);
        if (sums.s < 1) return;
    }
}

}  // namespace anello::rich

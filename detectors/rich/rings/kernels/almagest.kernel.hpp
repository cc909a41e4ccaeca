// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/histogram.kernel.hpp"

/// Ring finding by Ptolemy's theorem: four points are on one circle when the largest of the products of their opposite
/// distances is the sum of the other two. The search starts in eight ways (the outermost hits in eight directions) and
/// follows each until it finds no more rings. The way that explains most hits, then the one that fits best, wins.
namespace anello::rich {

inline constexpr int n_directions = 8;
/// 0.01 mm. On the PMT lattice equal heights and distances of exactly 90 mm are common, and rounding must not decide.
inline constexpr float lattice_slack = 1e-4f;

struct Triplet {
    float u[3], v[3];
    bool found;
};

/// Direction k of eight: right, left, up, down, and these rotated by 45 degrees.
template <class L>
ANELLO_HD float height(float u, float v, int direction) {
    const float axis[4] = {u, v, (u + v) * 0.70710678f, (v - u) * 0.70710678f};
    return (direction & 1) != 0 ? -axis[direction >> 1] : axis[direction >> 1];
}

/// Takes the outermost hit in a direction, then the next ones that are far enough from those taken.
template <class L>
ANELLO_HD Triplet outermost(const EventHits& hits, int direction, float min_pair) {
    Triplet triplet{};
    for (int k = 0; k < 3; ++k) {
        int best = -1;
        float best_height = 0;
        for (int i = 0; i < hits.n; ++i) {
            bool apart = true;
            for (int j = 0; j < k; ++j) {
                const float du = hits.u[i] - triplet.u[j], dv = hits.v[i] - triplet.v[j];
                apart = apart && du * du + dv * dv > (min_pair + lattice_slack) * (min_pair + lattice_slack);
            }
            const float h = height<L>(hits.u[i], hits.v[i], direction);
            if (!apart || (best >= 0 && h <= best_height + lattice_slack)) continue;
            best = i;
            best_height = h;
        }
        if (best < 0) return triplet;
        triplet.u[k] = hits.u[best];
        triplet.v[k] = hits.v[best];
    }
    triplet.found = true;
    return triplet;
}

template <class L>
ANELLO_LANE typename L::F distance(typename L::F u, typename L::F v, float to_u, float to_v) {
    const auto du = u - to_u, dv = v - to_v;
    return L::sqrt(du * du + dv * dv);
}

/// Bit mask of the hits whose Ptolemy value with the triplet is below the limit: AB CD + BC AD + AC BD - 2 max(...) is
/// the smallest value over the orderings, and never negative. Lanes are hits.
template <class L>
ANELLO_HD std::uint64_t on_same_circle(const EventHits& hits, const Triplet& t, float limit) {
    using F = typename L::F;
    using S = typename L::Scalar;
    const float ab = distance<S>(t.u[0], t.v[0], t.u[1], t.v[1]);
    const float bc = distance<S>(t.u[1], t.v[1], t.u[2], t.v[2]);
    const float ac = distance<S>(t.u[0], t.v[0], t.u[2], t.v[2]);
    std::uint64_t found = 0;
    for (int at = 0; at < hits.n; at += L::width) {
        const F u = L::load(hits.u + at), v = L::load(hits.v + at);
        const F p = ab * distance<L>(u, v, t.u[2], t.v[2]), q = bc * distance<L>(u, v, t.u[0], t.v[0]);
        const F r = ac * distance<L>(u, v, t.u[1], t.v[1]);
        const F value = p + q + r - 2.0f * L::max(p, L::max(q, r));
        found |= static_cast<std::uint64_t>(L::bits(L::less(value, L::set(limit)))) << at;
    }
    return found & (hits.n == 64 ? ~0ull : (1ull << hits.n) - 1);
}

template <class L>
ANELLO_HD Circles<typename L::Scalar> fit_marked(const EventHits& hits, std::uint64_t marked) {
    using S = typename L::Scalar;
    AlgebraicSums<S> sums;
    for (; marked != 0; marked &= marked - 1) {
        const int i = lowest_bit<L>(marked);
        sums.add(1, hits.u[i], hits.v[i], hits.z[i]);
    }
    return solve<S>(sums, {0, 0, 0});
}

template <class L>
ANELLO_HD float miss_of(const EventHits& hits, int i, const Circles<typename L::Scalar>& c) {
    return distance<typename L::Scalar>(hits.u[i], hits.v[i], c.a, c.b) - c.r;
}

/// Returns the marked hit that is farthest from the circle, and the sum of squares of all marked hits.
template <class L>
ANELLO_HD int worst_hit(const EventHits& hits, std::uint64_t marked, const Circles<typename L::Scalar>& c, float& worst,
                        float& sum) {
    int at = -1;
    worst = sum = 0;
    for (; marked != 0; marked &= marked - 1) {
        const int i = lowest_bit<L>(marked);
        const float miss = miss_of<L>(hits, i, c), square = miss * miss;
        sum += square;
        if (square >= worst) {
            worst = square;
            at = i;
        }
    }
    return at;
}

/// A ring grown from a triplet: associate, fit, attach, fit, drop the worst hits. marked: its hits; 0: no ring.
struct GrownRing {
    float a, b, r, chi2;
    std::uint64_t marked;
};

template <class L>
ANELLO_HD GrownRing grow(const EventHits& hits, const Triplet& start, const AlmagestParameters& p,
                         const Bounds& bounds) {
    using S = typename L::Scalar;
    const GrownRing none{0, 0, 0, 0, 0};
    const Circles<S> through =
        circle_through<S>(start.u[0], start.v[0], start.u[1], start.v[1], start.u[2], start.v[2]);
    if (through.r <= 0 || through.r > p.max_triplet_radius_mm / unit_mm) return none;
    std::uint64_t marked = on_same_circle<L>(hits, start, p.ptolemy_mm2 / (unit_mm * unit_mm));
    if (__builtin_popcountll(marked) < static_cast<int>(p.min_ring_hits)) return none;
    Circles<S> c = fit_marked<L>(hits, marked);
    if (c.r <= 0) return none;
    for (int i = 0; i < hits.n; ++i)
        if (__builtin_fabsf(miss_of<L>(hits, i, c)) <= p.attach_mm / unit_mm) marked |= 1ull << i;
    c = fit_marked<L>(hits, marked);
    const float sigma2 = p.sigma_mm / unit_mm * (p.sigma_mm / unit_mm);
    float worst = 0, sum = 0;
    int at = worst_hit<L>(hits, marked, c, worst, sum);
    for (std::uint32_t dropped = 0; dropped < p.max_drops && worst > p.max_pull2 * sigma2; ++dropped) {
        marked &= ~(1ull << at);
        c = fit_marked<L>(hits, marked);
        at = worst_hit<L>(hits, marked, c, worst, sum);
    }
    const bool enough = __builtin_popcountll(marked) >= static_cast<int>(p.min_ring_hits);
    if (!enough || !lies_within<S>(c, bounds)) return none;
    return {c.a, c.b, c.r, sum / sigma2, marked};
}

template <class L>
ANELLO_HD void remove_marked(EventHits& hits, std::uint64_t marked) {
    int left = 0;
    for (int i = 0; i < hits.n; ++i) {
        hits.u[left] = hits.u[i];
        hits.v[left] = hits.v[i];
        hits.z[left] = hits.z[i];
        left += (marked >> i & 1) == 0;
    }
    hits.n = left;
}

template <class L>
ANELLO_HD void find_by_almagest(const EventHits& hits, const RingFinderConfig& config, const Bounds& bounds,
                                EventRings& out) {
    const AlmagestParameters& p = config.almagest;
    GrownRing best[max_rings_per_event], now[max_rings_per_event];
    int n_best = 0, best_hits = 0;
    float best_chi2 = 0;
    for (int direction = 0; direction < n_directions; ++direction) {
        EventHits left = hits;
        int n = 0, n_hits = 0;
        float chi2 = 0;
        while (left.n >= static_cast<int>(p.min_ring_hits) && n < static_cast<int>(max_rings_per_event)) {
            const Triplet start = outermost<L>(left, direction, p.min_pair_mm / unit_mm);
            if (!start.found) break;
            const GrownRing ring = grow<L>(left, start, p, bounds);
            if (ring.marked == 0) break;
            remove_marked<L>(left, ring.marked);
            n_hits += __builtin_popcountll(ring.marked);
            chi2 += ring.chi2;
            now[n++] = ring;
        }
        if (n_hits < best_hits || (n_hits == best_hits && chi2 >= best_chi2)) continue;
        best_hits = n_hits;
        best_chi2 = chi2;
        n_best = n;
        for (int k = 0; k < n; ++k) best[k] = now[k];
    }
    for (int k = 0; k < n_best; ++k)
        write_ring<L>(out, config.acceptance, best[k].a, best[k].b, best[k].r,
                      static_cast<float>(__builtin_popcountll(best[k].marked)));
}

}  // namespace anello::rich

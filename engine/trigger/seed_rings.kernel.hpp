// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trigger/circle_fit.kernel.hpp"
#include "trigger/triplet_pattern.hpp"

/// Candidate rings of one event: sixteen hypotheses to a group, one per lane. Lane k of a group looks only at circles
/// through its own hit (the anchor), so that every part of the event gets its share of the candidates (the seeding of
/// CBM's ENN finder); of the triplets it tries, it keeps the one that explains most.
namespace anello::trigger {

inline constexpr int group_size = 16;
inline constexpr int max_candidates = 64;

/// strength: hits explained, softly; below zero: none.
struct alignas(64) Candidates {
    float a[max_candidates], b[max_candidates], r[max_candidates], strength[max_candidates];
    int n;
};

template <class L>
ANELLO_LANE void store(Candidates& to, int at, const Circles<L>& c, typename L::F strength) {
    L::store(to.a + at, c.a);
    L::store(to.b + at, c.b);
    L::store(to.r + at, c.r);
    L::store(to.strength + at, strength);
}

template <class L>
ANELLO_LANE Circles<L> load(const Candidates& from, int at) {
    return {L::load(from.a + at), L::load(from.b + at), L::load(from.r + at)};
}

/// The circle through three points; radius 0 where they lie (nearly) on a line.
template <class L>
ANELLO_LANE Circles<L> circle_through(typename L::F u0, typename L::F v0, typename L::F u1, typename L::F v1,
                                      typename L::F u2, typename L::F v2) {
    using F = typename L::F;
    const F p = u1 - u0, q = v1 - v0, s = u2 - u0, t = v2 - v0;
    const F cross = 2.0f * (p * t - s * q);
    const auto good = L::less(L::set(0.4f), L::abs(cross));
    const F inverse = L::rcp(L::select(good, cross, L::set(1)));
    const F p2 = p * p + q * q, s2 = s * s + t * t;
    const F a = (t * p2 - q * s2) * inverse, b = (p * s2 - s * p2) * inverse;
    const F r2 = a * a + b * b + 1e-7f, r = r2 * L::rsqrt(r2);
    return {u0 + a, v0 + b, L::select(good, r, L::set(0))};
}

/// How many hits lie within the window of each of two circles.
/// PERF NOTE: three fused multiply-adds a hit and circle; the rest is integer work (a soft count by floats costs twice
/// the time and finds the same rings). Two circles at a time share the hits that they read.
template <class L>
ANELLO_LANE void count_hits(const EventHits& hits, const Circles<L>& first, const Circles<L>& second, float window,
                            typename L::F& n_first, typename L::F& n_second) {
    using F = typename L::F;
    const LinearMiss<L> miss_first = linear_miss<L>(first, window), miss_second = linear_miss<L>(second, window);
    auto count_first = L::count_zero(), count_second = count_first;
    for (int i = 0; i < hits.n; ++i) {
        const F u = L::set(hits.u[i]), v = L::set(hits.v[i]), z = L::set(hits.z[i]);
        count_first = L::count_if(count_first, L::less(L::abs(miss_first.at(u, v, z)), L::set(1)));
        count_second = L::count_if(count_second, L::less(L::abs(miss_second.at(u, v, z)), L::set(1)));
    }
    n_first = L::count_float(count_first);
    n_second = L::count_float(count_second);
}

/// What a lane looks at: its anchor, and the pattern rows it draws partners from.
template <class L>
struct Anchor {
    typename L::F u, v;
    int part;  ///< first lane of this register in its group
};

template <class L>
ANELLO_LANE Circles<L> draw_triplet(const EventHits& hits, const Anchor<L>& anchor, std::uint32_t row) {
    const auto i = L::index(triplet_pattern.second[row % pattern_rows] + anchor.part, hits.n);
    const auto j = L::index(triplet_pattern.third[row % pattern_rows] + anchor.part, hits.n);
    return circle_through<L>(anchor.u, anchor.v, L::lookup(hits.u, i, hits.n), L::lookup(hits.v, i, hits.n),
                             L::lookup(hits.u, j, hits.n), L::lookup(hits.v, j, hits.n));
}

/// Draws up to `draws` triplets and keeps the last that may be a ring: a draw costs little beside counting its hits.
template <class L>
ANELLO_LANE Circles<L> draw_valid(const EventHits& hits, const Anchor<L>& anchor, const Bounds& bounds,
                                  std::uint32_t row, std::uint32_t draws, typename L::M& valid) {
    Circles<L> c = draw_triplet<L>(hits, anchor, row);
    valid = lies_within<L>(c, bounds);
    for (std::uint32_t k = 1; k < draws; ++k) {
        const Circles<L> next = draw_triplet<L>(hits, anchor, row + k);
        const auto usable = lies_within<L>(next, bounds);
        c = {L::select(usable, next.a, c.a), L::select(usable, next.b, c.b), L::select(usable, next.r, c.r)};
        valid = L::either(valid, usable);
    }
    return c;
}

/// The best triplet of each lane so far.
template <class L>
struct BestTriplet {
    Circles<L> circle{L::set(0), L::set(0), L::set(1)};
    typename L::F strength = L::set(-1);

    ANELLO_LANE void consider(const Circles<L>& c, typename L::M valid, typename L::F n_hits) {
        const auto better = L::both(valid, L::less(strength, n_hits));
        strength = L::select(better, n_hits, strength);
        circle = {L::select(better, c.a, circle.a), L::select(better, c.b, circle.b), L::select(better, c.r, circle.r)};
    }
};

/// One group: its sixteen best triplets go to candidates [at, at + 16). Triplets come in pairs.
template <class L>
ANELLO_HD void seed_group(const EventHits& hits, const MultiRingParameters& p, const Bounds& bounds, int group, int at,
                          Candidates& out) {
    const std::uint32_t draws = p.draws_per_triplet,
                        first_row = static_cast<std::uint32_t>(group) * p.triplets_per_lane;
    for (int part = 0; part < group_size; part += L::width) {
        const auto first = L::index(triplet_pattern.anchor[group] + part, hits.n);
        const Anchor<L> anchor{L::lookup(hits.u, first, hits.n), L::lookup(hits.v, first, hits.n), part};
        BestTriplet<L> best;
        for (std::uint32_t t = 0; t < p.triplets_per_lane; t += 2) {
            typename L::M valid, other_valid;
            const std::uint32_t row = (first_row + t) * draws;
            const Circles<L> c = draw_valid<L>(hits, anchor, bounds, row, draws, valid);
            const Circles<L> other = draw_valid<L>(hits, anchor, bounds, row + draws, draws, other_valid);
            typename L::F n_hits, other_n_hits;
            count_hits<L>(hits, c, other, p.seed_window_mm / unit_mm, n_hits, other_n_hits);
            best.consider(c, valid, n_hits);
            best.consider(other, other_valid, other_n_hits);
        }
        store<L>(out, at + part, best.circle, best.strength);
    }
}

/// Re-weighted fits with the windows [first, last), on all hits. A circle that leaves the acceptance is put far away,
/// where no hit is.
template <class L>
ANELLO_HD void refine(const EventHits& hits, const MultiRingParameters& p, const Bounds& bounds, int first, int last,
                      Candidates& candidates) {
    using F = typename L::F;
    const float scale = 1 / (unit_mm * __builtin_sqrtf(p.flatness));
    for (int at = 0; at < candidates.n; at += L::width) {
        Circles<L> c = load<L>(candidates, at);
        F strength = L::load(candidates.strength + at);
        for (int step = first; step < last; ++step) {
            const LinearMiss<L> miss = linear_miss<L>(c, p.refine_window_mm[step] * scale);
            AlgebraicSums<L> sums;
            for (int i = 0; i < hits.n; ++i) {
                const F u = L::set(hits.u[i]), v = L::set(hits.v[i]), z = L::set(hits.z[i]);
                sums.add(flat_top<L>(miss.at(u, v, z), p.flatness), u, v, z);
            }
            c = solve<L>(sums, c);
            c.r = L::min(L::set(bounds.r_max), L::max(L::set(bounds.r_min), c.r));
            strength = L::select(L::less(L::set(0), strength), sums.s, strength);
        }
        const auto inside = lies_within<L>(c, bounds);
        strength = L::select(inside, strength, L::set(-1));
        c.a = L::select(inside, c.a, L::set(far_away));
        store<L>(candidates, at, c, strength);
    }
}

/// Which of the candidates [at, at + width) lie close to a stronger one, as bits.
template <class L>
ANELLO_HD std::uint32_t overshadowed(const Candidates& candidates, int at, float near2) {
    using F = typename L::F;
    const Circles<L> here = load<L>(candidates, at);
    const F strength = L::load(candidates.strength + at);
    typename L::M weak = L::less(strength, L::set(0));
    for (int k = 0; k < candidates.n; ++k) {
        const F da = here.a - candidates.a[k], db = here.b - candidates.b[k], dr = here.r - candidates.r[k];
        const auto near = L::less(da * da + db * db + dr * dr, L::set(near2));
        weak = L::either(weak, L::both(near, L::less(strength, L::set(candidates.strength[k]))));
    }
    return L::bits(weak);
}

template <class L>
ANELLO_LANE void copy_candidate(const Candidates& from, int i, Candidates& to, int k) {
    to.a[k] = from.a[i];
    to.b[k] = from.b[i];
    to.r[k] = from.r[i];
    to.strength[k] = from.strength[i];
}

/// Absent circles behind the last, up to a multiple of sixteen.
template <class L>
ANELLO_HD void fill_up(Candidates& candidates) {
    for (int k = candidates.n; k < ((candidates.n + 15) & ~15); ++k) {
        candidates.a[k] = candidates.b[k] = far_away;
        candidates.r[k] = 1;
        candidates.strength[k] = -1;
    }
}

/// Of n candidates, keeps the `left` strongest; the last take the places of those that go.
template <class L>
ANELLO_HD void drop_weakest(Candidates& pool, int n, int left) {
    Team<L>::sync();
    for (; Team<L>::leads() && n > left; --n) {
        int weakest = 0;
        for (int k = 1; k < n; ++k) weakest = pool.strength[k] < pool.strength[weakest] ? k : weakest;
        copy_candidate<L>(pool, n - 1, pool, weakest);
    }
    Team<L>::sync();
}

/// Keeps the candidates that are strong enough and have no stronger one close by; of more than the pool holds, the
/// strongest. PERF NOTE: all pairs at once; taking the strongest again and again waits for each reduction.
template <class L>
ANELLO_HD int keep_distinct(Candidates& candidates, const MultiRingParameters& p, Candidates& pool) {
    const float near2 = p.distinct_mm / unit_mm * (p.distinct_mm / unit_mm);
    for (int at = 0; at < candidates.n; at += L::width) {  // no two alike: of equals, the first is the stronger
        const auto strength = L::load(candidates.strength + at) - 1e-4f * L::load(triplet_pattern.rank + at);
        const auto weak = L::less(strength, L::set(p.min_strength));
        L::store(candidates.strength + at, L::select(weak, L::set(-1), strength));
    }
    int n = 0;
    for (int at = 0; at < candidates.n; at += L::width) {
        std::uint32_t keep = ~overshadowed<L>(candidates, at, near2) & ((1u << L::width) - 1u);
        for (; keep != 0; keep &= keep - 1) copy_candidate<L>(candidates, at + lowest_bit<L>(keep), pool, n++);
    }
    if (n > static_cast<int>(p.pool_size)) {
        drop_weakest<L>(pool, n, static_cast<int>(p.pool_size));
        n = static_cast<int>(p.pool_size);
    }
    pool.n = n;
    fill_up<L>(pool);
    return pool.n;
}

}  // namespace anello::trigger

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/circle_fit.kernel.hpp"
#include "rich/rings/lanes/triplet_pattern.hpp"

/// Makes candidate rings of one event, in groups of sixteen hypotheses, one per lane. Lane k of a group tries only
/// circles through its own hit (the anchor), so that every part of the event gets candidates (the seeding of CBM's ENN
/// finder). Of the triplets that it tries, it keeps the one that explains most hits.
namespace anello::rich {

inline constexpr int group_size = 16;
inline constexpr int max_candidates = 64;
inline constexpr int max_pool = 32;  ///< candidates that are kept

/// strength: weighted number of hits explained; negative: no candidate.
template <int size>
struct alignas(64) CandidatesOf {
    float a[size], b[size], r[size], strength[size];
    int n;
};
using Candidates = CandidatesOf<max_candidates>;
using Pool = CandidatesOf<max_pool>;

template <class L>
ANELLO_LANE void store(Candidates& to, int at, const Circles<L>& c, typename L::F strength) {
    L::store(to.a + at, c.a);
    L::store(to.b + at, c.b);
    L::store(to.r + at, c.r);
    L::store(to.strength + at, strength);
}

template <class L, int size>
ANELLO_LANE Circles<L> load(const CandidatesOf<size>& from, int at) {
    return {L::load(from.a + at), L::load(from.b + at), L::load(from.r + at)};
}

/// The circle through three points; its radius is 0 if they are (nearly) on a line.
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

/// The hits in rows of sixteen, each row spread over the event, and the first rows again after the last. Sixteen
/// anchors are a row, and their partners are the sixteen hits at a fixed distance after it.
/// PERF NOTE: reading partners is then a plain load; a lookup in registers would cost as much as the circle.
struct alignas(64) HitRing {
    static constexpr int size = 2 * static_cast<int>(max_hits_per_event);
    float u[size], v[size];
    int n;  ///< hits without repetition, a multiple of sixteen; some occur twice
};

template <class L>
ANELLO_HD void close_ring(const EventHits& hits, HitRing& ring) {
    const int rows = (hits.n + group_size - 1) / group_size;
    assign<L>(ring.n, rows * group_size);
    ANELLO_ROLLED
    for (int row = 0; row < rows; ++row) {
        ANELLO_ROLLED
        for (int part = 0; part < group_size; part += L::width) {
            const auto i = L::index(triplet_pattern.spread[rows - 1][row] + part, hits.n);
            const auto u = L::lookup(hits.u, i, hits.n), v = L::lookup(hits.v, i, hits.n);
            ANELLO_ROLLED
            for (int at = row * group_size + part; at < 2 * ring.n; at += ring.n) {
                L::store(ring.u + at, u);
                L::store(ring.v + at, v);
            }
        }
    }
}

/// A circle with its squared radius, as seeds are compared with hits.
template <class L>
struct Seed {
    typename L::F a, b, r2;
    typename L::M valid;
};

/// The circle through an anchor (u, v) and two partners.
template <class L>
ANELLO_LANE Seed<L> draw_seed(const HitRing& ring, int at, typename L::F u, typename L::F v, const Bounds& bounds,
                              std::uint32_t k) {
    using F = typename L::F;
    const auto n = static_cast<std::uint32_t>(ring.n);
    const std::uint32_t* partner = triplet_pattern.partner[k % pattern_triplets];
    const int second = at + static_cast<int>(partner[0] * n >> 16), third = at + static_cast<int>(partner[1] * n >> 16);
    const F p = L::load_anywhere(ring.u + second) - u, q = L::load_anywhere(ring.v + second) - v;
    const F s = L::load_anywhere(ring.u + third) - u, t = L::load_anywhere(ring.v + third) - v;
    const F cross = p * t - s * q, half = 0.5f * L::rough_rcp(cross);
    const F p2 = p * p + q * q, s2 = s * s + t * t;
    const F a = (t * p2 - q * s2) * half, b = (p * s2 - s * p2) * half;
    const F r2 = a * a + b * b, centre_a = u + a, centre_b = v + b, centre2 = centre_a * centre_a + centre_b * centre_b;
    const auto large = L::both(L::less(L::set(0.2f), L::abs(cross)), L::less(L::set(bounds.r_min * bounds.r_min), r2));
    const auto small = L::less(r2, L::set(bounds.r_max * bounds.r_max));
    const auto inside = L::less(centre2, L::set(bounds.centre_max * bounds.centre_max));
    return {centre_a, centre_b, r2, L::both(L::both(large, small), inside)};
}

/// Draws up to `draws` seeds and keeps the last that may be a ring: a draw costs little compared with a count of hits.
template <class L>
ANELLO_LANE Seed<L> draw_valid(const HitRing& ring, int at, typename L::F u, typename L::F v, const Bounds& bounds,
                               std::uint32_t k, std::uint32_t draws) {
    Seed<L> seed = draw_seed<L>(ring, at, u, v, bounds, k);
    ANELLO_ROLLED
    for (std::uint32_t draw = 1; draw < draws; ++draw) {
        const Seed<L> next = draw_seed<L>(ring, at, u, v, bounds, k + draw);
        seed = {L::select(next.valid, next.a, seed.a), L::select(next.valid, next.b, seed.b),
                L::select(next.valid, next.r2, seed.r2), L::either(seed.valid, next.valid)};
    }
    return seed;
}

/// Like linear_miss(), for a seed.
template <class L>
ANELLO_LANE LinearMiss<L> linear_miss_of(const Seed<L>& seed, float window) {
    const auto k = L::rsqrt(seed.r2) * (0.5f / window), k2 = k * -2.0f;
    return {seed.a * k2, seed.b * k2, k, (seed.a * seed.a + seed.b * seed.b - seed.r2) * k};
}

/// Counts the hits within the window of each of two circles.
/// PERF NOTE: this takes three fused multiply-adds per hit and circle; the rest is integer work (a weighted count in
/// floats takes twice the time and finds the same rings). Two circles share the loads of hits.
template <class L>
ANELLO_LANE void count_hits(const EventHits& hits, const Seed<L>& first, const Seed<L>& second, float window,
                            typename L::F& n_first, typename L::F& n_second) {
    using F = typename L::F;
    const LinearMiss<L> miss_first = linear_miss_of<L>(first, 0.5f * window),
                        miss_second = linear_miss_of<L>(second, 0.5f * window);
    auto count_first = L::count_zero(), count_second = count_first;
    for (int i = 0; i < hits.n; ++i) {
        const F u = L::set(hits.u[i]), v = L::set(hits.v[i]), z = L::set(hits.z[i]);
        count_first = L::count_below_2(count_first, miss_first.at(u, v, z));
        count_second = L::count_below_2(count_second, miss_second.at(u, v, z));
    }
    n_first = L::count_float(count_first);
    n_second = L::count_float(count_second);
}

/// The best seed of each lane so far.
template <class L>
struct BestSeed {
    typename L::F a = L::set(0), b = L::set(0), r2 = L::set(1), strength = L::set(-1);

    ANELLO_LANE void consider(const Seed<L>& seed, typename L::F n_hits) {
        const auto better = L::both(seed.valid, L::less(strength, n_hits));
        strength = L::select(better, n_hits, strength);
        a = L::select(better, seed.a, a);
        b = L::select(better, seed.b, b);
        r2 = L::select(better, seed.r2, r2);
    }
};

/// Writes the sixteen best seeds of one group, out of `triplets` per lane, to candidates [to, to + 16). Triplets are
/// processed in pairs.
template <class L>
ANELLO_HD void seed_group(const EventHits& hits, const HitRing& ring, const MultiRingParameters& p,
                          const Bounds& bounds, int group, std::uint32_t triplets, int to, Candidates& out) {
    const std::uint32_t draws = p.draws_per_triplet;
    const std::uint32_t first = static_cast<std::uint32_t>(group) * triplets;
    const int row = group * group_size % ring.n;
    ANELLO_ROLLED
    for (int part = 0; part < group_size; part += L::width) {
        const int at = row + part;
        const auto u = L::load(ring.u + at), v = L::load(ring.v + at);
        BestSeed<L> best;
        ANELLO_ROLLED
        for (std::uint32_t k = 0; k < triplets; k += 2) {
            const Seed<L> seed = draw_valid<L>(ring, at, u, v, bounds, (first + k) * draws, draws);
            const Seed<L> other = draw_valid<L>(ring, at, u, v, bounds, (first + k + 1) * draws, draws);
            typename L::F n_hits, other_n_hits;
            count_hits<L>(hits, seed, other, p.seed_window_mm / unit_mm, n_hits, other_n_hits);
            best.consider(seed, n_hits);
            best.consider(other, other_n_hits);
        }
        store<L>(out, to + part, {best.a, best.b, L::sqrt(best.r2)}, best.strength);
    }
}

/// One re-weighted fit to all hits. A circle that leaves the acceptance is moved far away, where there are no hits.
template <class L>
ANELLO_HD void refine(const EventHits& hits, const MultiRingParameters& p, const Bounds& bounds,
                      Candidates& candidates) {
    using F = typename L::F;
    const float window = p.refine_window_mm / (unit_mm * __builtin_sqrtf(p.flatness));
    ANELLO_ROLLED
    for (int at = 0; at < candidates.n; at += L::width) {
        const Circles<L> seed = load<L>(candidates, at);
        const LinearMiss<L> miss = linear_miss<L>(seed, window);
        AlgebraicSums<L> sums;
        for (int i = 0; i < hits.n; ++i) {
            const F u = L::set(hits.u[i]), v = L::set(hits.v[i]), z = L::set(hits.z[i]);
            sums.add(flat_top<L>(miss.at(u, v, z), p.flatness), u, v, z);
        }
        Circles<L> c = solve<L>(sums, seed);
        c.r = L::min(L::set(bounds.r_max), L::max(L::set(bounds.r_min), c.r));
        const auto inside = lies_within<L>(c, bounds);
        const auto found = L::both(inside, L::less(L::set(0), L::load(candidates.strength + at)));
        c.a = L::select(inside, c.a, L::set(far_away));
        store<L>(candidates, at, c, L::select(found, sums.s, L::set(-1)));
    }
}

/// Bit mask of the candidates in [at, at + width) that are close to a stronger one.
template <class L>
ANELLO_HD std::uint32_t overshadowed(const Candidates& candidates, int at, float near2) {
    using F = typename L::F;
    const Circles<L> here = load<L>(candidates, at);
    const F strength = L::load(candidates.strength + at);
    typename L::M weak = L::less(strength, L::set(0));
    for (int k = 0; k < candidates.n; ++k) {
        const F apart = apart2<L>(here, candidates.a[k], candidates.b[k], candidates.r[k]);
        const auto near = L::less(apart, L::set(near2));
        weak = L::either(weak, L::both(near, L::less(strength, L::set(candidates.strength[k]))));
    }
    return L::bits(weak);
}

template <class L>
ANELLO_HD float greatest_strength(const Candidates& candidates) {
    auto most = L::load(candidates.strength);
    ANELLO_ROLLED
    for (int at = L::width; at < candidates.n; at += L::width) most = L::max(most, L::load(candidates.strength + at));
    return L::greatest(most);
}

/// Returns the first of the strongest candidates.
template <class L>
ANELLO_HD int strongest(const Candidates& candidates) {
    const float greatest = greatest_strength<L>(candidates);
    ANELLO_ROLLED
    for (int at = 0; at < candidates.n; at += L::width)
        if (const std::uint32_t here = L::bits(L::equal(L::load(candidates.strength + at), L::set(greatest)));
            here != 0)
            return at + lowest_bit<L>(here);
    return 0;
}

template <class L>
ANELLO_LANE void copy_candidate(const Candidates& from, int i, Pool& to, int k) {
    to.a[k] = from.a[i];
    to.b[k] = from.b[i];
    to.r[k] = from.r[i];
    to.strength[k] = from.strength[i];
}

/// Adds absent circles after the last, up to a multiple of sixteen.
template <class L, int size>
ANELLO_HD void fill_up(CandidatesOf<size>& candidates) {
    ANELLO_ROLLED
    for (int k = candidates.n; Team<L>::leads() && k < ((candidates.n + 15) & ~15); ++k) {
        candidates.a[k] = candidates.b[k] = far_away;
        candidates.r[k] = 1;
        candidates.strength[k] = -1;
    }
}

/// Bit mask of the candidates that are stronger.
template <class L>
ANELLO_HD std::uint64_t stronger_than(const Candidates& candidates, float strength) {
    std::uint64_t stronger = 0;
    ANELLO_ROLLED
    for (int at = 0; at < candidates.n; at += L::width)
        stronger |= static_cast<std::uint64_t>(L::bits(L::less(L::set(strength), L::load(candidates.strength + at))))
                    << at;
    return stronger;
}

/// Bit mask of the `left` strongest candidates of `among`, or a few less if several are about equally strong.
/// PERF NOTE: it halves the range of strengths; to search the weakest one repeatedly took 6 % of the time of an event
/// with four rings.
template <class L>
ANELLO_HD std::uint64_t strongest_of(const Candidates& candidates, std::uint64_t among, int left) {
    float most = greatest_strength<L>(candidates), least = 0;
    std::uint64_t keep = 0;
    ANELLO_ROLLED
    for (int halving = 0, n = 0; halving < 12 && n != left; ++halving) {
        const float middle = 0.5f * (least + most);
        const std::uint64_t stronger = stronger_than<L>(candidates, middle) & among;
        n = __builtin_popcountll(stronger);
        keep = n <= left ? stronger : keep;
        most = n <= left ? middle : most;
        least = n <= left ? least : middle;
    }
    return keep;
}

/// Keeps the candidates that are strong enough and have no stronger one nearby; if they are too many for the pool, the
/// strongest. PERF NOTE: all pairs at once, because repeatedly taking the strongest waits for each reduction.
template <class L>
ANELLO_HD int keep_distinct(Candidates& candidates, const MultiRingParameters& p, Pool& pool) {
    const float near2 = p.distinct_mm / unit_mm * (p.distinct_mm / unit_mm);
    ANELLO_ROLLED
    for (int at = 0; at < candidates.n; at += L::width) {  // no ties: of equal ones, the first is the stronger
        const auto strength = L::load(candidates.strength + at) - 1e-4f * L::load(triplet_pattern.rank + at);
        const auto weak = L::less(strength, L::set(p.min_strength));
        L::store(candidates.strength + at, L::select(weak, L::set(-1), strength));
    }
    std::uint64_t keep = 0;
    ANELLO_ROLLED
    for (int at = 0; at < candidates.n; at += L::width) {
        const std::uint32_t distinct = ~overshadowed<L>(candidates, at, near2) & ((1u << L::width) - 1u);
        keep |= static_cast<std::uint64_t>(distinct) << at;
    }
    const int most = static_cast<int>(p.pool_size);
    if (__builtin_popcountll(keep) > most) keep = strongest_of<L>(candidates, keep, most);
    int n = 0;
    Team<L>::sync();
    ANELLO_ROLLED
    for (; keep != 0; keep &= keep - 1, ++n)
        if (Team<L>::leads()) copy_candidate<L>(candidates, lowest_bit<L>(keep), pool, n);
    assign<L>(pool.n, n);
    fill_up<L>(pool);
    Team<L>::sync();
    return n;
}

}  // namespace anello::rich

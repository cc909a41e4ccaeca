// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/exchange.kernel.hpp"
#include "rich/rings/kernels/single_ring.kernel.hpp"

/// The default finder, in two tiers. The first is a single-ring fit with one event per lane. The second, for events
/// that it does not explain, makes a pool of candidates, takes the best cover of the hits, refits it by likelihood,
/// exchanges rings for more likely candidates, and tries again for doubtful rings.
namespace anello::rich {

template <class L>
ANELLO_LANE void write_ring(EventRings& out, const Acceptance& acceptance, float a, float b, float r, float n_hits) {
    if (out.n_rings == max_rings_per_event) {
        out.flags |= rings_truncated;
        return;
    }
    out.ring[out.n_rings++] = {a * unit_mm + acceptance.centre_x_mm, b * unit_mm + acceptance.centre_y_mm, r * unit_mm,
                               static_cast<std::uint16_t>(n_hits + 0.5f)};
}

struct Seeding {
    HitRing ring;
    Candidates candidates;
};

/// Memory to look for candidates in hits that no ring explains.
struct Leftover {
    Seeding seeding;
    EventHits rest;
};

/// Only one step runs at a time: it looks for candidates, chooses a cover, or fits rings.
template <class L>
union SearchStep {
    Leftover left;
    ScoreTable cover;
    MixtureTable<L> mixture;
};

/// Memory of the second tier. Data that are not needed at the same time share one place; each step first writes the
/// data that it reads.
/// PERF NOTE: a multiprocessor of an H100 has room for 12 warps if two teams take 18 kB, for 16 with 13.5 kB; that of
/// an A100 for 16 with 9.5 kB.
template <class L>
struct SearchSpace {
    SearchStep<L> step;
    Pool pool;
};

/// Limits the work for an event, counted in comparisons of hits with circles. Optional steps are left out when the
/// limit is reached. It does not measure time, so that the same hits give the same rings on any machine.
struct Work {
    std::int64_t left;

    ANELLO_LANE explicit Work(const MultiRingParameters& p)
        : left(p.max_work > 0 ? static_cast<std::int64_t>(p.max_work) * 1000 : INT64_MAX) {}
    /// Returns whether the rest is enough for this; if it is not, it is not enough for any later step.
    ANELLO_LANE bool take(int pairs) {
        left -= pairs;
        return left >= 0;
    }
    ANELLO_LANE bool is_cut() const { return left < 0; }
};

/// Work to draw and refine sixteen candidates.
ANELLO_LANE int work_of_group(int n_hits, std::uint32_t triplets) {
    return group_size * (static_cast<int>(triplets) + 1) * n_hits;
}

/// A pair of hit and circle takes about eight times as long in a fit as in a count of candidates' hits.
ANELLO_LANE int work_of_fit(const MultiRingParameters& p, int n_hits, int n_rings) {
    return 8 * static_cast<int>(p.refit_steps) * n_rings * n_hits;
}

/// Returns the best cover of the hits by candidates of the pool.
template <class L>
ANELLO_HD RingSet cover(const EventHits& hits, const MultiRingParameters& p, const Pool& pool, ScoreTable& table) {
    score_candidates<L>(hits, pool, p, table);
    RingSet rings;
    rings.n = 0;
    ANELLO_ROLLED
    for (std::uint64_t chosen = best_cover<L>(hits, pool, p, table); chosen != 0; chosen &= chosen - 1) {
        const int k = lowest_bit<L>(chosen);
        rings.a[rings.n] = pool.a[k];
        rings.b[rings.n] = pool.b[k];
        rings.r[rings.n++] = pool.r[k];
    }
    return rings;
}

/// Copies the hits that no ring explains, in their order.
template <class L>
ANELLO_HD void unexplained_hits(const EventHits& hits, const RingSet& rings, float window, EventHits& rest) {
    std::uint64_t left = 0;
    ANELLO_ROLLED
    for (int at = 0; at < hits.n; at += L::width) {
        const auto u = L::load(hits.u + at), v = L::load(hits.v + at), z = L::load(hits.z + at);
        auto least = L::set(far_away);
        ANELLO_ROLLED
        for (int k = 0; k < rings.n; ++k) {
            const Circles<L> ring{L::set(rings.a[k]), L::set(rings.b[k]), L::set(rings.r[k])};
            least = L::min(least, L::abs(linear_miss<L>(ring, window).at(u, v, z)));
        }
        left |= static_cast<std::uint64_t>(L::bits(L::less(L::set(1), least))) << at;
    }
    left &= hits.n == 64 ? ~0ull : (1ull << hits.n) - 1;
    Team<L>::sync();
    int n = 0;
    ANELLO_ROLLED
    for (; Team<L>::leads() && left != 0; left &= left - 1, ++n) {
        const int i = lowest_bit<L>(left);
        rest.u[n] = hits.u[i];
        rest.v[n] = hits.v[i];
        rest.z[n] = hits.z[i];
    }
    if (Team<L>::leads()) rest.n = n;
    fill_up<L>(rest, n);
    Team<L>::sync();
}

/// Makes sixteen candidates from the remaining hits.
template <class L>
ANELLO_HD void seed_one_group(const EventHits& rest, const MultiRingParameters& p, const Bounds& bounds, int group,
                              Seeding& seeding) {
    close_ring<L>(rest, seeding.ring);
    assign<L>(seeding.candidates.n, group_size);
    seed_group<L>(rest, seeding.ring, p, bounds, group, p.triplets_per_lane, 0, seeding.candidates);
}

/// Makes a new pool from candidates of the unexplained hits, the rings found so far, and the old pool. Returns false,
/// and changes nothing, if the unexplained hits have no circle and are only noise.
template <class L>
ANELLO_HD bool extend_pool(const EventHits& hits, const EventHits& rest, const MultiRingParameters& p,
                           const Bounds& bounds, const RingSet& rings, int group, Seeding& seeding, Pool& pool) {
    constexpr float important = 2 * static_cast<float>(max_hits_per_event);
    Candidates& all = seeding.candidates;
    seed_one_group<L>(rest, p, bounds, group, seeding);
    if (greatest_strength<L>(all) < p.retry_strength) return false;
    refine<L>(hits, p, bounds, all);
    ANELLO_ROLLED
    for (int at = 0; at < group_size; at += L::width) {
        const auto strength = L::load(all.strength + at);
        L::store(all.strength + at, L::select(L::less(L::set(0), strength), strength + important, strength));
    }
    const int n_old = pool.n < max_candidates - group_size - rings.n ? pool.n : max_candidates - group_size - rings.n;
    Team<L>::sync();
    ANELLO_ROLLED
    for (int k = 0; Team<L>::leads() && k < rings.n + n_old; ++k) {
        const bool is_ring = k < rings.n;
        const int at = group_size + k;
        all.a[at] = is_ring ? rings.a[k] : pool.a[k - rings.n];
        all.b[at] = is_ring ? rings.b[k] : pool.b[k - rings.n];
        all.r[at] = is_ring ? rings.r[k] : pool.r[k - rings.n];
        all.strength[at] = is_ring ? 2 * important : pool.strength[k - rings.n];
    }
    assign<L>(all.n, group_size + rings.n + n_old);
    fill_up<L>(all);
    Team<L>::sync();
    keep_distinct<L>(all, p, pool);
    return true;
}

/// Fills the pool with candidates of the whole event; returns false if there are none.
template <class L>
ANELLO_HD bool fill_pool(const EventHits& hits, const MultiRingParameters& p, const Bounds& bounds, Work& work,
                         Seeding& seeding, Pool& pool) {
    const bool many = hits.n > static_cast<int>(p.many_hits);
    const int groups = static_cast<int>(many ? p.groups_many : p.groups);
    const std::uint32_t triplets = many ? p.triplets_many : p.triplets_per_lane;
    work.take(groups * work_of_group(hits.n, triplets));
    close_ring<L>(hits, seeding.ring);
    assign<L>(seeding.candidates.n, groups * group_size);
    ANELLO_ROLLED
    for (int group = 0; group < groups; ++group)
        seed_group<L>(hits, seeding.ring, p, bounds, group, triplets, group * group_size, seeding.candidates);
    refine<L>(hits, p, bounds, seeding.candidates);
    return keep_distinct<L>(seeding.candidates, p, pool) > 0;
}

/// Finds the best cover. While it leaves the hits of a circle unexplained, it tries again with candidates from these.
template <class L>
ANELLO_HD RingSet cover_all(const EventHits& hits, const MultiRingParameters& p, const Bounds& bounds, Work& work,
                            SearchSpace<L>& space) {
    SearchStep<L>& step = space.step;
    Pool& pool = space.pool;
    EventHits& rest = step.left.rest;
    RingSet rings = cover<L>(hits, p, pool, step.cover);
    ANELLO_ROLLED
    for (std::uint32_t retry = 0; retry < p.max_retries; ++retry) {
        unexplained_hits<L>(hits, rings, p.score_window_mm / unit_mm, rest);
        if (rest.n < static_cast<int>(p.retry_hits)) break;
        if (!work.take(work_of_group(rest.n, p.triplets_per_lane) + pool.n * hits.n)) break;
        const int group = static_cast<int>(retry) % max_groups;
        if (!extend_pool<L>(hits, rest, p, bounds, rings, group, step.left.seeding, pool)) break;
        rings = cover<L>(hits, p, pool, step.cover);
    }
    return rings;
}

/// Replaces a ring by a candidate, or adds one, while this makes the hits more likely, or nearly so, before the fit.
/// The change stays if the hits are more likely after the fit.
template <class L>
ANELLO_HD void exchange_rings(const EventHits& hits, const MultiRingParameters& p, Work& work, SearchSpace<L>& space,
                              RingFit& best) {
    MixtureTable<L>& table = space.step.mixture;
    const MixtureModel model = model_of<L>(p, 1);
    ANELLO_ROLLED
    for (std::uint32_t turn = 0; turn < p.max_exchanges; ++turn) {
        if (!work.take(2 * space.pool.n * hits.n + work_of_fit(p, hits.n, best.rings.n))) return;
        expect<L>(hits, best.rings, model, table);
        const Exchange exchange = best_exchange<L>(hits, p, space.pool, model, best.rings, table);
        if (!(exchange.gain > -p.exchange_loss)) return;
        RingSet other = best.rings;
        exchange_ring<L>(space.pool, exchange, other);
        const RingFit fit = fit_mixture<L>(hits, p, other, table);
        if (!(fit.likelihood > best.likelihood)) return;
        best = fit;
    }
}

/// Replaces a ring by the best circle for the hits that the other rings do not explain.
template <class L>
ANELLO_HD bool try_replace(const EventHits& hits, const MultiRingParameters& p, const Bounds& bounds, int ring,
                           int group, EventHits& rest, Seeding& seeding, RingSet& rings) {
    remove_ring<L>(rings, ring);
    unexplained_hits<L>(hits, rings, p.score_window_mm / unit_mm, rest);
    if (rest.n < static_cast<int>(p.retry_hits)) return false;
    Candidates& candidates = seeding.candidates;
    seed_one_group<L>(rest, p, bounds, group, seeding);
    refine<L>(rest, p, bounds, candidates);
    const int best = strongest<L>(candidates);
    if (candidates.strength[best] < p.retry_strength) return false;
    rings.a[rings.n] = candidates.a[best];
    rings.b[rings.n] = candidates.b[best];
    rings.r[rings.n++] = candidates.r[best];
    return true;
}

/// Returns the ring with this rank, when rings are sorted by their hits, fewest first.
template <class L>
ANELLO_HD int ring_of_rank(const RingSet& rings, int rank) {
    int found = 0;
    ANELLO_ROLLED
    for (int k = 0; k < rings.n; ++k) {
        int n_poorer = 0;
        ANELLO_ROLLED
        for (int j = 0; j < rings.n; ++j)
            n_poorer += rings.own[j] < rings.own[k] || (rings.own[j] == rings.own[k] && j < k);
        found = n_poorer == rank ? k : found;
    }
    return found;
}

/// True if the ring has few hits, in an event with hits that no ring explains.
template <class L>
ANELLO_HD bool is_doubtful(const EventHits& hits, const MultiRingParameters& p, const RingSet& rings, int ring) {
    auto n_left = static_cast<float>(hits.n);
    ANELLO_ROLLED
    for (int k = 0; k < rings.n; ++k) n_left -= rings.own[k];
    return rings.own[ring] < p.doubt_share * p.yield_hits && n_left >= p.doubt_rest_hits;
}

/// Rings with few hits often consist of hits of two others, or hide another ring. So the finder searches again in place
/// of each of the poorest rings, and keeps the more likely set of rings.
template <class L>
ANELLO_HD void reconsider(const EventHits& hits, const MultiRingParameters& p, const Bounds& bounds, Work& work,
                          SearchSpace<L>& space, RingFit& best) {
    ANELLO_ROLLED
    for (int turn = 0; turn < static_cast<int>(p.max_restarts) && turn < best.rings.n; ++turn) {
        const int ring = ring_of_rank<L>(best.rings, turn);
        if (!is_doubtful<L>(hits, p, best.rings, ring)) break;
        if (!work.take(work_of_group(hits.n, p.triplets_per_lane) + work_of_fit(p, hits.n, best.rings.n))) break;
        RingSet other = best.rings;
        Leftover& left = space.step.left;
        if (!try_replace<L>(hits, p, bounds, ring, (turn + 1) % max_groups, left.rest, left.seeding, other)) continue;
        const RingFit fit = fit_mixture<L>(hits, p, other, space.step.mixture);
        if (fit.likelihood > best.likelihood) best = fit;
    }
}

template <class L>
ANELLO_HD void find_many(const EventHits& hits, const RingFinderConfig& config, const Bounds& bounds, EventRings& out) {
    const MultiRingParameters& p = config.multiring;
    if (hits.n < static_cast<int>(p.min_hits)) return;
    ANELLO_SHARED(L, SearchSpace<L>, space);
    Work work(p);
    if (!fill_pool<L>(hits, p, bounds, work, space.step.left.seeding, space.pool)) return;
    const RingSet chosen = cover_all<L>(hits, p, bounds, work, space);
    MixtureTable<L>& table = space.step.mixture;
    work.take(2 * work_of_fit(p, hits.n, chosen.n));
    RingFit fit = fit_mixture<L>(hits, p, chosen, table);
    exchange_rings<L>(hits, p, work, space, fit);
    reconsider<L>(hits, p, bounds, work, space, fit);
    if (work.is_cut()) out.flags |= search_cut;
    settle<L>(hits, p, fit.rings, table);
    using S = typename L::Scalar;
    const RingSet& rings = fit.rings;
    ANELLO_ROLLED
    for (int k = 0; k < rings.n; ++k)
        if (lies_within<S>({rings.a[k], rings.b[k], rings.r[k]}, bounds))
            write_ring<L>(out, config.acceptance, rings.a[k], rings.b[k], rings.r[k], rings.own[k]);
}

/// Initialises an event's result.
template <class L>
ANELLO_LANE void begin(EventRings& out, std::uint8_t flags) {
    out.n_rings = 0;
    out.flags = flags;
}

/// The second tier, for one event.
template <class L>
ANELLO_HD void find_many_of(const HitsView& hits, std::uint32_t event, const RingFinderConfig& config,
                            const Bounds& bounds, EventRings& out) {
    EventHits one;
    out.n_rings = 0;
    load_hits<L>(span_of<L>(hits, event), config.acceptance, one, out.flags);
    find_many<L>(one, config, bounds, out);
}

/// The first tier: returns the lanes that a single ring explains, as bit mask.
template <class L>
ANELLO_HD std::uint32_t explained_lanes(const LaneHits<L>& lanes, const SingleParameters& p, const Bounds& bounds,
                                        const Circles<L>& c, typename L::F near) {
    const auto rest = L::load(lanes.n) - near;
    const auto enough = L::less(L::set(static_cast<float>(p.min_ring_hits) - 0.5f), near);
    const auto few = L::less(rest, L::set(static_cast<float>(p.max_unexplained) + 0.5f));
    const auto fewer = L::less(rest, near * p.max_unexplained_share);
    return L::bits(L::both(L::both(enough, lies_within<L>(c, bounds)), L::both(few, fewer)));
}

/// Runs the first tier on the events in the lanes, calls `search(event)` for the others, and empties the lanes.
template <class L, class Search>
ANELLO_HD void find_in_lanes(LaneHits<L>& lanes, const RingFinderConfig& config, const Bounds& bounds,
                             EventRings* rings, const Search& search) {
    finish_lanes<L>(config.acceptance, lanes);
    const MixtureModel model = model_of<L>(config.multiring, 1);
    Circles<L> c = fit_in_windows<L>(lanes, config.single, bounds);
    ANELLO_ROLLED
    for (std::uint32_t step = 0; step < config.multiring.single_steps; ++step) c = likelier_circle<L>(lanes, c, model);
    const auto near = count_near<L>(lanes, c, config.single.count_window_mm / unit_mm);
    const std::uint32_t explained = explained_lanes<L>(lanes, config.single, bounds, c, near);
    alignas(64) float a[L::width], b[L::width], r[L::width], n[L::width];
    L::store(a, c.a);
    L::store(b, c.b);
    L::store(r, c.r);
    L::store(n, near);
    ANELLO_ROLLED
    for (int lane = 0; lane < lanes.n_lanes; ++lane) {
        EventRings& out = rings[lanes.event[lane]];
        if ((explained >> lane & 1) != 0) {
            begin<L>(out, lanes.flags[lane]);
            write_ring<L>(out, config.acceptance, a[lane], b[lane], r[lane], n[lane]);
        } else if (lanes.n[lane] < static_cast<float>(config.multiring.min_hits)) {
            begin<L>(out, lanes.flags[lane]);
        } else {
            search(lanes.event[lane]);
        }
    }
    clear_lanes<L>(lanes);
}

/// Events with too many hits for one ring skip the first tier, so that they do not delay the neighbouring lanes.
template <class L, class Search>
ANELLO_HD void find_first_tier(const HitsView& hits, const RingFinderConfig& config, const Bounds& bounds,
                               EventRings* rings, const Search& search) {
    LaneHits<L> lanes;
    clear_lanes<L>(lanes);
    ANELLO_ROLLED
    for (std::uint32_t event = 0; event < hits.n_events; ++event) {
        const HitSpan span = span_of<L>(hits, event);
        if (span.n > static_cast<int>(config.single.max_hits)) {
            search(event);
            continue;
        }
        add_lane<L>(span, event, lanes);
        if (lanes.n_lanes == L::width) find_in_lanes<L>(lanes, config, bounds, rings, search);
    }
    if (lanes.n_lanes > 0) find_in_lanes<L>(lanes, config, bounds, rings, search);
}

template <class L>
ANELLO_HD void find_tiered(const HitsView& hits, const RingFinderConfig& config, const Bounds& bounds,
                           EventRings* rings) {
    find_first_tier<L>(hits, config, bounds, rings,
                       [&](std::uint32_t event) { find_many_of<L>(hits, event, config, bounds, rings[event]); });
}

}  // namespace anello::rich

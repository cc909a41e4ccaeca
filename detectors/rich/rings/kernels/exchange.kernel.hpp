// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/mixture.kernel.hpp"

/// The cover chooses candidates by the number of hits near them. This step replaces each ring by each candidate, or
/// adds the candidate to the rings, and compares the hits' likelihood. Lanes are candidates.
namespace anello::rich {

/// Replaces ring number `ring` by a candidate; if `ring` is the number of rings, it adds the candidate.
struct Exchange {
    int candidate, ring;
    float gain;  ///< gain in log-likelihood, before the candidate is fitted
};

inline constexpr float no_gain = -far_away;

/// The best exchange of each lane's candidate so far.
template <class L>
struct BestExchange {
    typename L::F gain = L::set(no_gain), ring = L::set(0);

    ANELLO_LANE void offer(typename L::F offered, int k) {
        const auto better = L::less(gain, offered);
        gain = L::select(better, offered, gain);
        ring = L::select(better, L::set(static_cast<float>(k)), ring);
    }
    ANELLO_LANE int ring_of(int lane) const {
        int found = 0;
        ANELLO_ROLLED
        for (int k = 1; k <= max_chosen; ++k)
            found = (L::bits(L::equal(ring, L::set(static_cast<float>(k)))) >> lane & 1) != 0 ? k : found;
        return found;
    }
};

/// Changes the table in place: total becomes 1 / total, and step[k] the fraction of a hit's likelihood that is left
/// without ring k; after the last ring, where no ring is replaced, it is 1.
template <class L>
ANELLO_HD void shares_without(const EventHits& hits, int n_rings, MixtureTable<L>& table) {
    ANELLO_ROLLED
    for (int at = 0; at < hits.n; at += L::width) {
        const auto inverse = L::rcp(L::load(table.total + at));
        L::store(table.total + at, inverse);
        ANELLO_ROLLED
        for (int k = 0; k < n_rings; ++k)
            L::store(table.step[k] + at, L::max(L::set(5e-5f), 1.0f - inverse * L::load(table.odds[k] + at)));
        if (n_rings < max_chosen) L::store(table.step[n_rings] + at, L::set(1));
    }
}

/// Offers the gains of candidates c in place of each ring, and in addition to the rings: at most n_moves gains.
/// PERF NOTE: likelihoods of eight hits are multiplied before a logarithm is taken, each between 5e-5 and 2e4.
template <class L, int n_moves>
ANELLO_HD void weigh(const EventHits& hits, const Circles<L>& c, const MixtureModel& model, const RingSet& rings,
                     const MixtureTable<L>& table, float twin2, BestExchange<L>& best) {
    using F = typename L::F;
    constexpr int n_multiplied = 8;
    const LinearMiss<L> miss = linear_miss<L>(c, model.width);
    const F height = L::min(L::set(2e4f), model.odds * L::rcp(c.r));
    F gain[n_moves];
    for (int k = 0; k < n_moves; ++k) gain[k] = L::set(0);
    ANELLO_ROLLED
    for (int at = 0; at < hits.n; at += n_multiplied) {
        F product[n_moves];
        for (int k = 0; k < n_moves; ++k) product[k] = L::set(1);
        const int end = at + n_multiplied < hits.n ? at + n_multiplied : hits.n;
        ANELLO_ROLLED
        for (int i = at; i < end; ++i) {
            const F x = miss.at(L::set(hits.u[i]), L::set(hits.v[i]), L::set(hits.z[i]));
            const Profile<L> profile(model.shape, x * x);
            const F odds = profile.density() * height * table.total[i];
            for (int k = 0; k < n_moves; ++k) product[k] = product[k] * (odds + table.step[k <= rings.n ? k : 0][i]);
        }
        for (int k = 0; k < n_moves; ++k) gain[k] = gain[k] + natural_log<L>(product[k]);
    }
    const F cost = cost_of<L>(model, c.r);
    for (int k = 0; k < n_moves && k <= rings.n; ++k) {
        if (k == rings.n) {
            best.offer(gain[k] - cost, k);
            break;
        }
        const auto is_other = L::less(L::set(twin2), apart2<L>(c, rings.a[k], rings.b[k], rings.r[k]));
        const F gained = gain[k] - cost + cost_of<typename L::Scalar>(model, rings.r[k]);
        best.offer(L::select(is_other, gained, L::set(no_gain)), k);
    }
}

/// Returns the most likely exchange. It needs the table that expect() made for the rings, and overwrites it.
template <class L>
ANELLO_HD Exchange best_exchange(const EventHits& hits, const MultiRingParameters& p, const Pool& pool,
                                 const MixtureModel& model, const RingSet& rings, MixtureTable<L>& table) {
    const float twin2 = p.twin_mm / unit_mm * (p.twin_mm / unit_mm);
    shares_without<L>(hits, rings.n, table);
    Exchange found{0, 0, no_gain};
    ANELLO_ROLLED
    for (int at = 0; at < pool.n; at += L::width) {
        const Circles<L> c = load<L>(pool, at);
        BestExchange<L> best;
        if (rings.n < 2)
            weigh<L, 2>(hits, c, model, rings, table, twin2, best);
        else if (rings.n < 4)
            weigh<L, 4>(hits, c, model, rings, table, twin2, best);
        else
            weigh<L, max_chosen>(hits, c, model, rings, table, twin2, best);
        const auto present = L::less(L::set(0), L::load(pool.strength + at));
        const auto gains = L::select(present, best.gain, L::set(no_gain));
        const float gain = L::greatest(gains);
        if (!(gain > found.gain)) continue;
        const int lane = lowest_bit<L>(L::bits(L::equal(gains, L::set(gain))));
        found = {at + lane, best.ring_of(lane), gain};
    }
    return found;
}

template <class L>
ANELLO_LANE void exchange_ring(const Pool& pool, const Exchange& exchange, RingSet& rings) {
    if (exchange.ring < rings.n) remove_ring<L>(rings, exchange.ring);
    rings.a[rings.n] = pool.a[exchange.candidate];
    rings.b[rings.n] = pool.b[exchange.candidate];
    rings.r[rings.n++] = pool.r[exchange.candidate];
}

}  // namespace anello::rich

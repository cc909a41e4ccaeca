// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trigger/seed_rings.kernel.hpp"

/// Chooses the set of candidates that explains the hits best: maximise
///   sum over hits of max over chosen rings of score(hit, ring)  -  cost x rings,
/// where score is 1 - (miss / window)^2, at least 0: the shape of the log-likelihood ratio of "from this ring" to
/// "noise". A beam search over byte lanes: one pass over the hits gives the gain of every candidate at once.
namespace anello::trigger {

inline constexpr int n_slots = static_cast<int>(max_hits_per_event);
inline constexpr int max_beam = 8;
inline constexpr int max_chosen = 6;

/// Scores as bytes. by_hit[i][j]: hit i, candidate j. by_ring[j][i]: the same, filled on demand (bits of `done`).
struct alignas(64) ScoreTable {
    std::uint8_t by_hit[max_hits_per_event][max_candidates];
    std::uint8_t by_ring[max_candidates][max_hits_per_event];
};

template <class L>
ANELLO_HD void score_candidates(const EventHits& hits, const Candidates& pool, const MultiRingParameters& p,
                                ScoreTable& table) {
    using F = typename L::F;
    const float unit = static_cast<float>(p.score_unit);
    for (int at = 0; at < pool.n; at += L::width) {
        const LinearMiss<L> miss = linear_miss<L>(load<L>(pool, at), p.score_window_mm / unit_mm);
        for (int i = 0; i < hits.n; ++i) {
            const F m = miss.at(L::set(hits.u[i]), L::set(hits.v[i]), L::set(hits.z[i]));
            L::store_bytes(&table.by_hit[i][at], L::max(L::set(0), unit - m * m * unit));
        }
    }
}

template <class L>
ANELLO_HD const std::uint8_t* ring_scores(const EventHits& hits, const Candidates& pool, const MultiRingParameters& p,
                                          int ring, ScoreTable& table, std::uint64_t& done) {
    if ((done >> ring & 1) == 0) {
        done |= 1ull << ring;
        const Circles<L> c{L::set(pool.a[ring]), L::set(pool.b[ring]), L::set(pool.r[ring])};
        const LinearMiss<L> miss = linear_miss<L>(c, p.score_window_mm / unit_mm);
        const float unit = static_cast<float>(p.score_unit);
        for (int i = 0; i < hits.n; i += L::width) {
            const auto m = miss.at(L::load(hits.u + i), L::load(hits.v + i), L::load(hits.z + i));
            L::store_bytes(&table.by_ring[ring][i], L::max(L::set(0), unit - m * m * unit));
        }
    }
    return table.by_ring[ring];
}

template <int n>
struct alignas(64) AlignedBytes {
    std::uint8_t at[n];
};

/// A set of chosen candidates and what each hit scores with it.
struct alignas(64) CoverState {
    std::uint8_t score[max_hits_per_event];
    std::uint64_t chosen;  ///< bit j: candidate j
    int value;
};

/// A child not yet built.
struct CoverStep {
    std::uint64_t chosen;
    int value;
    std::uint8_t parent, ring;
};

/// Keeps the best `width` steps, best first, each set once.
template <class L>
ANELLO_HD void offer(const CoverStep& step, CoverStep* best, int& n, int width) {
    for (int k = 0; k < n; ++k)
        if (best[k].chosen == step.chosen) return;
    if (n == width && best[n - 1].value >= step.value) return;
    int k = n < width ? n++ : n - 1;
    while (k > 0 && best[k - 1].value < step.value) {
        best[k] = best[k - 1];
        --k;
    }
    best[k] = step;
}

/// Offers every candidate that would raise `state` by more than a ring's cost.
template <class L>
ANELLO_HD void expand(const CoverState& state, int parent, const ScoreTable& table, const EventHits& hits, int n_pool,
                      int cost, int width, CoverStep* best, int& n_best) {
    using Gains = AlignedBytes<max_candidates>;
    ANELLO_SHARED(L, Gains, gains);
    std::uint8_t* gain = gains.at;
    for (int at = 0; at < n_pool; at += L::byte_width) {
        auto sum = L::byte_set(0), odd = sum;
        int i = 0;
        for (; i + 1 < hits.n; i += 2) {
            sum = L::byte_add(sum, L::byte_subtract(L::byte_load(&table.by_hit[i][at]), L::byte_set(state.score[i])));
            odd = L::byte_add(
                odd, L::byte_subtract(L::byte_load(&table.by_hit[i + 1][at]), L::byte_set(state.score[i + 1])));
        }
        if (i < hits.n)
            sum = L::byte_add(sum, L::byte_subtract(L::byte_load(&table.by_hit[i][at]), L::byte_set(state.score[i])));
        sum = L::byte_add(sum, odd);
        L::byte_store(gain + at, sum);
        int least = cost;
        if (n_best == width && best[width - 1].value - state.value + cost > least)
            least = best[width - 1].value - state.value + cost;
        if (least > 255) continue;
        std::uint64_t above = L::byte_greater(sum, L::byte_set(static_cast<std::uint8_t>(least)));
        const int here = n_pool - at;
        if (here < 64) above &= (1ull << here) - 1;
        for (; above != 0; above &= above - 1) {
            const int ring = at + lowest_bit<L>(above);
            if ((state.chosen >> ring & 1) != 0) continue;
            offer<L>({state.chosen | 1ull << ring, state.value + gain[ring] - cost, static_cast<std::uint8_t>(parent),
                      static_cast<std::uint8_t>(ring)},
                     best, n_best, width);
        }
    }
}

/// Returns the chosen candidates as bits.
template <class L>
ANELLO_HD std::uint64_t best_cover(const EventHits& hits, const Candidates& pool, const MultiRingParameters& p,
                                   ScoreTable& table) {
    const int cost = static_cast<int>(p.ring_cost_hits * static_cast<float>(p.score_unit) + 0.5f);
    const int width = static_cast<int>(p.beam_width);
    using Generations = CoverState[2][max_beam];
    ANELLO_SHARED(L, Generations, states);
    for (auto& score : states[0][0].score) score = 0;
    states[0][0].chosen = 0;
    states[0][0].value = 0;
    int n_states = 1, best_value = 0;
    std::uint64_t best = 0, done = 0;
    for (int depth = 0; depth < max_chosen; ++depth) {
        CoverStep steps[max_beam];
        int n_steps = 0;
        const CoverState* now = states[depth & 1];
        for (int k = 0; k < n_states; ++k) expand<L>(now[k], k, table, hits, pool.n, cost, width, steps, n_steps);
        if (n_steps == 0) break;
        if (steps[0].value > best_value) {
            best_value = steps[0].value;
            best = steps[0].chosen;
        }
        CoverState* next = states[(depth + 1) & 1];
        for (int k = 0; k < n_steps; ++k) {
            const std::uint8_t* ring = ring_scores<L>(hits, pool, p, steps[k].ring, table, done);
            const CoverState& parent = now[steps[k].parent];
            for (int at = 0; at < n_slots; at += L::byte_width)
                L::byte_store(next[k].score + at,
                              L::byte_max(L::byte_load(parent.score + at), L::byte_load(ring + at)));
            next[k].chosen = steps[k].chosen;
            next[k].value = steps[k].value;
        }
        n_states = n_steps;
    }
    return best;
}

}  // namespace anello::trigger

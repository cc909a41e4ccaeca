// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/seed_rings.kernel.hpp"

/// Chooses the set of candidates that explains the hits best. It maximises
///   sum over hits of max over chosen rings of score(hit, ring)  -  cost x rings,
/// where score is 1 - (miss / window)^2, at least 0, which has the shape of the log-likelihood ratio of "from this
/// ring" to "noise". It is a beam search over byte lanes: one pass over the hits gives the gain of every candidate.
namespace anello::rich {

inline constexpr int n_slots = static_cast<int>(max_hits_per_event);
inline constexpr int max_beam = 4;
inline constexpr int max_chosen = 6;

/// Candidates are stored in blocks of this many.
inline constexpr int block_size = 16;

/// Scores as bytes; sets of chosen candidates with the current number of rings and with one more, and the score of each
/// hit in each set.
struct alignas(64) ScoreTable {
    std::uint8_t by_hit[max_pool / block_size][max_hits_per_event][block_size];  ///< [b][i][j]: 16 b + j
    std::uint8_t of_ring[max_hits_per_event];                                    ///< of one candidate
    std::uint8_t of_set[2][max_beam][max_hits_per_event];
    std::uint64_t chosen[2][max_beam];  ///< bit j: candidate j
    int value[2][max_beam];
    std::uint8_t gain[block_size];
};

template <class L>
ANELLO_HD void score_candidates(const EventHits& hits, const Pool& pool, const MultiRingParameters& p,
                                ScoreTable& table) {
    using F = typename L::F;
    const float unit = static_cast<float>(p.score_unit);
    ANELLO_ROLLED
    for (int at = 0; at < pool.n; at += L::width) {
        const LinearMiss<L> miss = linear_miss<L>(load<L>(pool, at), p.score_window_mm / unit_mm);
        for (int i = 0; i < ((hits.n + 3) & ~3); ++i) {  // gains_of() reads up to four hits at a time
            const F m = miss.at(L::set(hits.u[i]), L::set(hits.v[i]), L::set(hits.z[i]));
            L::store_bytes(&table.by_hit[at / block_size][i][at % block_size], L::max(L::set(0), unit - m * m * unit));
        }
    }
}

/// Writes the scores of one candidate, hit by hit, to table.of_ring. It computes them each time, because a team of
/// threads on a device does not have enough memory to keep them.
template <class L>
ANELLO_HD void score_ring(const EventHits& hits, const Pool& pool, const MultiRingParameters& p, int ring,
                          ScoreTable& table) {
    const Circles<L> c{L::set(pool.a[ring]), L::set(pool.b[ring]), L::set(pool.r[ring])};
    const LinearMiss<L> miss = linear_miss<L>(c, p.score_window_mm / unit_mm);
    const float unit = static_cast<float>(p.score_unit);
    ANELLO_ROLLED
    for (int i = 0; i < hits.n; i += L::width) {
        const auto m = miss.at(L::load(hits.u + i), L::load(hits.v + i), L::load(hits.z + i));
        L::store_bytes(&table.of_ring[i], L::max(L::set(0), unit - m * m * unit));
    }
}

/// Sets that can be built next, best first, as one number each: value, parent, ring; 0: none.
/// PERF NOTE: sorted only with max and min, because a branch could not be predicted.
struct CoverSteps {
    std::int32_t key[max_beam] = {};

    ANELLO_LANE void offer(int value, int parent, int ring) {
        std::int32_t rest = value << 10 | (max_beam - 1 - parent) << 8 | ring;
        for (auto& kept : key) {
            const std::int32_t better = kept > rest ? kept : rest;
            rest = kept > rest ? rest : kept;
            kept = better;
        }
    }
    ANELLO_LANE int value(int k) const { return key[k] >> 10; }
    ANELLO_LANE int parent(int k) const { return max_beam - 1 - (key[k] >> 8 & 3); }
    ANELLO_LANE int ring(int k) const { return key[k] & 255; }
};

/// Computes by how much each candidate of a block would raise a set's score, as bytes (255: this or more).
/// PERF NOTE: a register of 64 bytes takes four hits by sixteen candidates at a time.
template <class L>
ANELLO_LANE void gains_of(const std::uint8_t* of_set, const std::uint8_t (*by_hit)[block_size], int n_hits,
                          std::uint8_t* gain) {
    constexpr int n_lanes = L::byte_width < block_size ? L::byte_width : block_size, n_rows = L::byte_width / n_lanes;
    ANELLO_ROLLED
    for (int at = 0; at < block_size; at += n_lanes) {
        auto sum = L::byte_set(0);
        for (int i = 0; i < n_hits; i += n_rows)
            sum = L::byte_add(sum, L::byte_subtract(L::byte_load(by_hit[i] + at), L::byte_spread(of_set + i)));
        L::byte_fold(gain + at, sum);
    }
}

/// Candidates that would give the same set as an earlier set gives: those of earlier sets that differ in only one ring.
template <class L>
ANELLO_HD std::uint64_t made_before(const std::uint64_t* chosen, int at) {
    std::uint64_t made = chosen[at];
    ANELLO_ROLLED
    for (int k = 0; k < at; ++k) {
        const std::uint64_t other = chosen[k] & ~chosen[at];
        if ((other & (other - 1)) == 0) made |= other;
    }
    return made;
}

/// Cost of a ring, and largest distance from the best value of a set that is still extended, in steps of the score.
struct CoverLimits {
    int cost, margin;
};

/// Offers the candidates that raise set `at` of a side by more than a ring's cost, and to near the best value so far.
template <class L>
ANELLO_HD void expand(int side, int at, ScoreTable& table, int n_hits, int n_pool, const CoverLimits& limits,
                      CoverSteps& steps) {
    const std::uint64_t made = made_before<L>(table.chosen[side], at);
    const int value = table.value[side][at] - limits.cost;
    ANELLO_ROLLED
    for (int first = 0; first < n_pool; first += block_size) {
        gains_of<L>(table.of_set[side][at], table.by_hit[first / block_size], n_hits, table.gain);
        const int n_present = n_pool - first < block_size ? n_pool - first : block_size;
        const std::uint64_t present = (1ull << n_present) - 1;
        const int most = value + L::greatest_byte(table.gain, n_present),
                  best = most > steps.value(0) ? most : steps.value(0);
        const int near = best - limits.margin - value - 1, least = near > limits.cost ? near : limits.cost;
        if (least > 255) continue;
        std::uint64_t above = L::bytes_above(table.gain, static_cast<std::uint8_t>(least)) & present & ~(made >> first);
        ANELLO_ROLLED
        for (; above != 0; above &= above - 1) {
            const int j = lowest_bit<L>(above);
            steps.offer(value + table.gain[j], at, first + j);
        }
    }
}

/// Returns the chosen candidates as bit mask.
template <class L>
ANELLO_HD std::uint64_t best_cover(const EventHits& hits, const Pool& pool, const MultiRingParameters& p,
                                   ScoreTable& table) {
    const float unit = static_cast<float>(p.score_unit);
    const CoverLimits limits{static_cast<int>(p.ring_cost_hits * unit + 0.5f),
                             static_cast<int>(p.beam_margin_hits * unit + 0.5f)};
    const int width = static_cast<int>(p.beam_width);
    ANELLO_ROLLED
    for (int at = 0; at < n_slots; at += L::byte_width) L::byte_store(table.of_set[0][0] + at, L::byte_set(0));
    if (Team<L>::leads()) table.chosen[0][0] = table.value[0][0] = 0;
    Team<L>::sync();
    int n_states = 1, best_value = 0;
    std::uint64_t best = 0;
    ANELLO_ROLLED
    for (int depth = 0; depth < max_chosen; ++depth) {
        CoverSteps steps;
        const int now = depth & 1, next = 1 - now;
        ANELLO_ROLLED
        for (int k = 0; k < n_states; ++k) expand<L>(now, k, table, hits.n, pool.n, limits, steps);
        if (steps.key[0] == 0) break;
        const int least = steps.value(0) > limits.margin ? steps.value(0) - limits.margin : 1;
        ANELLO_ROLLED
        for (n_states = 0; n_states < width && steps.value(n_states) >= least; ++n_states) {
            const int ring_index = steps.ring(n_states);
            score_ring<L>(hits, pool, p, ring_index, table);
            const int parent = steps.parent(n_states);
            const std::uint8_t* const of_parent = table.of_set[now][parent];
            std::uint8_t* const of_child = table.of_set[next][n_states];
            ANELLO_ROLLED
            for (int at = 0; at < n_slots; at += L::byte_width)
                L::byte_store(of_child + at,
                              L::byte_max(L::byte_load(of_parent + at), L::byte_load(table.of_ring + at)));
            if (Team<L>::leads()) {
                table.chosen[next][n_states] = table.chosen[now][parent] | 1ull << ring_index;
                table.value[next][n_states] = steps.value(n_states);
            }
        }
        Team<L>::sync();
        if (table.value[next][0] > best_value) {
            best_value = table.value[next][0];
            best = table.chosen[next][0];
        }
    }
    return best;
}

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "rich/tests/rings/sample.hpp"

/// Measures the quality of found rings. It does not use the engine.
namespace rings {

struct FoundRing {
    float x_mm, y_mm, radius_mm;
};

/// Sums over events; call add() for each event.
struct Score {
    long n_true = 0;                   ///< true rings with at least min_own_hits hits
    long within_5 = 0, within_10 = 0;  ///< true rings matched one to one within 5 (10) mm in centre and radius
    long n_found = 0, n_ghosts = 0;    ///< ghost: no one-to-one true ring within 20 mm (a clone is a ghost)
    double sum_dr = 0;
    std::vector<float> dr_mm, dc_mm;

    static constexpr int min_own_hits = 6;
    void add(std::span<const TrueRing> truth, std::span<const FoundRing> found);
};

struct Miss {
    float centre_mm, radius_mm;
    bool within(float limit_mm) const { return centre_mm < limit_mm && std::abs(radius_mm) < limit_mm; }
    float squared() const { return centre_mm * centre_mm + radius_mm * radius_mm; }
};

inline Miss miss_between(const FoundRing& found, const TrueRing& truth) {
    return {std::hypot(found.x_mm - truth.x_mm, found.y_mm - truth.y_mm), found.radius_mm - truth.radius_mm};
}

/// Pairs rings one to one, closest pair first.
inline void Score::add(std::span<const TrueRing> truth, std::span<const FoundRing> found) {
    std::vector<bool> truth_used(truth.size()), found_used(found.size());
    for (const TrueRing& ring : truth) n_true += ring.n_hits >= min_own_hits;
    n_found += static_cast<long>(found.size());
    for (;;) {
        float best = 1e30f;
        std::size_t t = truth.size(), f = found.size();
        for (std::size_t i = 0; i < truth.size(); ++i)
            for (std::size_t k = 0; k < found.size(); ++k) {
                if (truth_used[i] || found_used[k]) continue;
                const Miss miss = miss_between(found[k], truth[i]);
                if (!miss.within(20) || miss.squared() >= best) continue;
                best = miss.squared();
                t = i;
                f = k;
            }
        if (t == truth.size()) break;
        truth_used[t] = found_used[f] = true;
        if (truth[t].n_hits < min_own_hits) continue;
        const Miss miss = miss_between(found[f], truth[t]);
        within_5 += miss.within(5);
        within_10 += miss.within(10);
        sum_dr += miss.radius_mm;
        dr_mm.push_back(std::abs(miss.radius_mm));
        dc_mm.push_back(miss.centre_mm);
    }
    for (const bool used : found_used) n_ghosts += !used;
}

/// A fraction in per cent with the half width of its 95 % interval (Wilson).
struct Share {
    double per_cent, half_width;
};

inline Share share(long k, long n) {
    if (n == 0) return {0, 0};
    constexpr double z = 1.96;
    const double p = static_cast<double>(k) / static_cast<double>(n), m = static_cast<double>(n);
    const double half = z / (1 + z * z / m) * std::sqrt(p * (1 - p) / m + z * z / (4 * m * m));
    return {100 * p, 100 * half};
}

}  // namespace rings

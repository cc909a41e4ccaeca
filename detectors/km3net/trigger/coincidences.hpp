// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "km3net/slices/calibrated_hits.hpp"

/// Coincidences within one DOM. Hits in order of time; windows in 1/16 ns, both ends included.
/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::km3net {

struct Coincidence {
    std::span<const PackedHit> hits;  ///< from the first on, all within the window of it
    std::uint32_t pmts = 0;           ///< bits of their channels
    std::uint32_t n_pmts() const noexcept { return static_cast<std::uint32_t>(std::popcount(pmts)); }
};

/// What follows hits[first] within the window, with it.
inline Coincidence coincidence_at(std::span<const PackedHit> hits, std::size_t first, std::int64_t window) noexcept {
    const std::int64_t last_time = hits[first].time() + window;
    Coincidence found;
    std::size_t end = first;
    for (; end < hits.size() && hits[end].time() <= last_time; ++end) found.pmts |= 1U << hits[end].channel();
    found.hits = hits.subspan(first, end - first);
    return found;
}

/// Calls use(coincidence) for each that is_one() takes; no hit is in two.
template <typename IsOne, typename Use>
void for_each_coincidence(std::span<const PackedHit> hits, std::int64_t window, IsOne is_one, Use use) noexcept {
    for (std::size_t i = 0; i + 1 < hits.size();) {
        const Coincidence found = coincidence_at(hits, i, window);
        if (found.hits.size() > 1 && is_one(found)) {
            use(found);
            i += found.hits.size();
        } else {
            ++i;
        }
    }
}

/// Whether a later hit is on another PMT that looks within this angle of the first.
bool has_near_pair(const Coincidence& found, double cos_min) noexcept;

}  // namespace anello::km3net

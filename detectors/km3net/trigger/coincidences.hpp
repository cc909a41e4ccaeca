// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "km3net/slices/calibrated_hits.hpp"

/// Finds coincidences within one DOM. Hits are sorted by time; windows are in 1/16 ns and include both ends.
/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::km3net {

struct Coincidence {
    std::span<const PackedHit> hits;  ///< the first hit, and all hits within the window after it
    std::uint32_t pmts = 0;           ///< bit mask of their channels
    std::uint32_t n_pmts() const noexcept { return static_cast<std::uint32_t>(std::popcount(pmts)); }
};

/// The hit hits[first] and all hits that follow within the window.
inline Coincidence coincidence_at(std::span<const PackedHit> hits, std::size_t first, std::int64_t window) noexcept {
    const std::int64_t last_time = hits[first].time() + window;
    Coincidence found;
    std::size_t end = first;
    for (; end < hits.size() && hits[end].time() <= last_time; ++end) found.pmts |= 1U << hits[end].channel();
    found.hits = hits.subspan(first, end - first);
    return found;
}

/// Calls use(coincidence) for each coincidence that is_one() accepts. No hit is in two of them.
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

/// Whether a later hit is on another PMT whose direction is within this angle of the first hit's PMT.
bool has_near_pair(const Coincidence& found, double cos_min) noexcept;

}  // namespace anello::km3net

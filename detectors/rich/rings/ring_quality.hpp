// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "rich/rings/ring_finder.hpp"

namespace anello::rich {

/// Support of one ring by the event's hits, from the mixture likelihood of mixture.kernel.hpp.
struct RingQuality {
    std::uint16_t n_assigned;  ///< hits that more likely belong to this ring than to another or noise
    /// Natural logarithm of the likelihood with this ring over that without it, for the given other rings. It includes
    /// the expected yield of a ring, but not MultiRingParameters::ring_prior.
    float log_likelihood_ratio;
    /// Covariance of (x, y, radius), row by row, mm^2: the inverse of the assigned hits' Fisher information. If they
    /// do not determine a circle, the variances are infinite and the rest is 0.
    std::array<float, 9> covariance_mm2;
};

/// Qualities of one event's rings, in the order of EventRings; entries after the last ring are undefined.
using EventQuality = std::array<RingQuality, max_rings_per_event>;

/// Quality of a ring that was not judged: NaN, and no hits.
RingQuality unknown_quality() noexcept;

/// Computes the qualities of one event's rings. quality: [found.n_rings]. hit_ring: [hits of the event], index of each
/// hit's ring, -1 for none; may be null. Hits that the finder ignores are ignored here. Does not allocate or throw.
void judge_rings(const RingFinderConfig& config, const HitsView& hits, std::uint32_t event, const EventRings& found,
                 RingQuality* quality, std::int8_t* hit_ring) noexcept;

}  // namespace anello::rich

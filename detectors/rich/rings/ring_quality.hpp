// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "rich/rings/ring_finder.hpp"

namespace anello::rich {

/// How well an event's hits support one of its rings, by the mixture likelihood of mixture.kernel.hpp.
struct RingQuality {
    std::uint16_t n_assigned;  ///< hits likelier of this ring than of another or of noise
    /// Natural logarithm of the likelihood with this ring over that without it, the other rings given. The yield that
    /// a ring is expected to have is paid for; MultiRingParameters::ring_prior is not.
    float log_likelihood_ratio;
    /// Covariance of (x, y, radius), row by row, mm^2: the inverse of the assigned hits' Fisher information. Where they
    /// do not determine a circle, the variances are infinite and the rest is 0.
    std::array<float, 9> covariance_mm2;
};

/// Of one event's rings, by their places in EventRings; what is behind the last is anything.
using EventQuality = std::array<RingQuality, max_rings_per_event>;

/// Of a ring that nobody has judged: NaN, and no hits.
RingQuality unknown_quality() noexcept;

/// The qualities of one event's rings. quality: [found.n_rings]. hit_ring: [hits of the event], the ring that each is
/// assigned to, -1 for none; may be null. Hits that the finder ignores are ignored here. Does not allocate or throw.
void judge_rings(const RingFinderConfig& config, const HitsView& hits, std::uint32_t event, const EventRings& found,
                 RingQuality* quality, std::int8_t* hit_ring) noexcept;

}  // namespace anello::rich

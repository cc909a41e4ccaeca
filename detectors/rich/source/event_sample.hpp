// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rich/source/cherenkov.hpp"

namespace anello::rich {

inline constexpr std::int8_t no_ring = -1;

struct SampleHit {
    std::uint16_t pmt;
    std::int16_t time_fine;      ///< 1/256 tick, relative to the event's time
    std::int8_t ring = no_ring;  ///< index among the event's rings; no_ring: noise, or not known
    bool operator==(const SampleHit&) const = default;
};

/// A ring that the simulation put into an event. A track below threshold has none.
struct TruthRing {
    float x_mm, y_mm, radius_mm;  ///< fit frame
    float momentum_gev;           ///< 0 if the sample has no momenta
    float time_ns;                ///< relative to the event's time
    std::uint16_t n_hits;         ///< its own hits
    Particle particle;
    bool in_time;
    bool operator==(const TruthRing&) const = default;
};

/// Events with their truth, as structure of arrays: event e has hits [hit_offset[e], hit_offset[e + 1]).
struct EventSample {
    std::vector<std::uint32_t> hit_offset{0};
    std::vector<SampleHit> hits;
    std::vector<std::uint32_t> ring_offset{0};
    std::vector<TruthRing> rings;

    std::uint32_t n_events() const noexcept { return static_cast<std::uint32_t>(hit_offset.size() - 1); }
    std::span<const SampleHit> hits_of(std::uint32_t event) const noexcept {
        return std::span(hits).subspan(hit_offset[event], hit_offset[event + 1] - hit_offset[event]);
    }
    std::span<const TruthRing> rings_of(std::uint32_t event) const noexcept {
        return std::span(rings).subspan(ring_offset[event], ring_offset[event + 1] - ring_offset[event]);
    }
    /// Appends an event from outside (real data). Throws ConfigError if a hit is not on a PMT, or if one board has more
    /// than 255 hits.
    void add_event(std::span<const SampleHit> event_hits, std::span<const TruthRing> event_rings = {});
};

}  // namespace anello::rich

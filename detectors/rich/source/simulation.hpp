// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "rich/source/cherenkov.hpp"
#include "rich/source/event_sample.hpp"
#include "rich/source/pmt_lookup.hpp"
#include "rich/source/simulation_config.hpp"
#include "source/random.hpp"

namespace anello::rich {

/// Simulates events of the NA62 RICH with their truth. Event i depends only on the configuration and i, so that any
/// part of a sample can be made again. Not thread-safe: each thread needs its own object.
class RichSimulation {
  public:
    explicit RichSimulation(const RichSimulationConfig& config);  ///< Throws ConfigError.

    void add_event(std::uint64_t event_index, EventSample& sample);
    /// Returns events first, first + 1, ... first + n_events - 1.
    EventSample simulate(std::uint32_t n_events, std::uint64_t first = 0);

    const RichSimulationConfig& config() const noexcept { return config_; }
    const CherenkovOptics& optics() const noexcept { return optics_; }

  private:
    /// Rule for the disk that a photon reaches: a line in the ring's plane divides the light.
    struct Split {
        double normal_x, normal_y, offset_mm;
        bool by_emission_point;  ///< scale the photon's offset by its distance from the mirror at emission
    };

    std::uint32_t draw_n_tracks(source::Random& random) const;
    Particle draw_particle(source::Random& random) const;
    void add_rings(source::Random& random);
    void add_ring(source::Random& random, bool in_time);
    bool draw_circle(source::Random& random, TruthRing& ring) const;
    void draw_centre(source::Random& random, TruthRing& ring) const;
    void add_photons(source::Random& random, const TruthRing& ring, std::int8_t ring_index);
    double mean_photons(const TruthRing& ring) const;
    Split draw_split(source::Random& random, const TruthRing& ring) const;
    std::uint32_t disk_of(source::Random& random, const Split& split, double x_mm, double y_mm) const;
    bool in_acceptance(double x_mm, double y_mm) const noexcept;
    void add_noise(source::Random& random);
    void add_hit(std::int32_t pmt, double time_ns, std::int8_t ring);
    void merge_hits();
    void limit_hits(source::Random& random);

    RichSimulationConfig config_;
    CherenkovOptics optics_;
    PmtLookup lookup_;
    std::array<Point, n_disks> offset_;
    std::vector<SampleHit> hits_;   // of the event in work
    std::vector<TruthRing> rings_;  // of the event in work
};

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "detector/rich_geometry.hpp"

namespace anello::source {

/// na62: tracks with momentum, rings by Cherenkov's law. brief: rings of uniform radius, the sample on which ring
/// finders are compared; it stands on the same PMTs.
enum class SampleKind : std::uint8_t { na62, brief };
SampleKind parse_sample_kind(const std::string& text);  ///< Throws ConfigError.

/// What the simulated RICH sees. Lengths in the fit frame; the numbers' sources are in
/// docs/reference/rich-simulation.md.
struct RichSimulationConfig {
    SampleKind sample = SampleKind::na62;
    detector::rich::FitFrame fit_frame = detector::rich::FitFrame::run_2016;
    std::uint64_t seed = 1;

    std::vector<double> ring_shares{0.10, 0.55, 0.15, 0.15, 0.05};  ///< events with 0, 1, 2, ... in-time tracks
    double out_of_time_rings = 0.3;                                 ///< mean accidental rings per event, Poisson
    double out_of_time_min_ns = 8;   ///< accidental rings are this far from the event's time at least,
    double out_of_time_max_ns = 24;  ///< and at most (the packet's hit times reach +-1 tick)
    double noise_hits = 2.5;         ///< mean per event, Poisson, flat over PMTs and time

    double centre_x_mm = -110.25, centre_y_mm = 1.14;  ///< mean ring centre
    double centre_sd_mm = 80;                          ///< each axis
    double centre_max_mm = 1000;                       ///< greatest distance from the mean

    // sample = na62
    double pion_share = 0.5, muon_share = 0.35, electron_share = 0.15, kaon_share = 0;
    double momentum_mean_gev = 31.34, momentum_sd_gev = 7.52, momentum_min_gev = 15, momentum_max_gev = 75;
    double electron_ring_radius_mm = 189.646;
    double electron_ring_hits =
        18.15;  ///< detected of a ring wholly on the disks, before merging (12.9 remain on average)
    double mirror_x_mean_mm = -200;  ///< where tracks cross the mirrors; light beyond x = 0 goes to Jura's disk,
    double mirror_x_sd_mm = 450;     ///< the rest to Saleve's, so that tracks near 0 light both

    // sample = brief
    double radius_min_mm = 100, radius_max_mm = 195;
    double ring_photons = 20.5;  ///< mean photons that reach the plane of the PMTs
    double split_share = 0.3;    ///< rings cut by a line, its two sides on different disks

    double smear_mm = 1.2;  ///< optical, per axis; with the light collector's 4.5 mm it makes 4.7 mm per hit
    double hit_time_sd_ns = 0.28;
    double merge_ns = 15;         ///< a PMT does not see a second photon so soon after one: they are one hit
    std::uint32_t max_hits = 64;  ///< per event; beyond, hits are left out by chance

    /// The brief sample's own values: overlaid frame, centres around (0, 0), no accidental rings.
    static RichSimulationConfig brief();
    void validate() const;  ///< Throws ConfigError.
};

}  // namespace anello::source

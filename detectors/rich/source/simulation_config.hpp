// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/seed.hpp"
#include "rich/geometry.hpp"

namespace anello::rich {

/// na62: tracks with momentum, whose rings follow Cherenkov's law. brief: rings with uniformly distributed radii on the
/// same PMTs, the sample on which ring finders are compared.
enum class SampleKind : std::uint8_t { na62, brief };
SampleKind parse_sample_kind(const std::string& text);  ///< Throws ConfigError.

/// Parameters of the simulated RICH. Lengths are in the fit frame. rich_simulation_keys describes each number;
/// docs/reference/rich-simulation.md gives their sources.
struct RichSimulationConfig {
    std::uint64_t seed = default_seed;

    std::uint32_t n_pool_events = 20'000;
    SampleKind sample = SampleKind::na62;
    rich::FitFrame fit_frame = rich::FitFrame::run_2016;
    std::vector<double> ring_shares{0.10, 0.55, 0.15, 0.15, 0.05};
    double out_of_time_rings = 0.3;
    double out_of_time_min_ns = 8, out_of_time_max_ns = 24;  ///< hit times in packets have a range of +-1 tick
    double noise_hits = 2.5;

    double centre_x_mm = -110.25, centre_y_mm = 1.14;
    double centre_sd_mm = 80;
    double centre_max_mm = 1000;

    // For sample = na62:
    double pion_share = 0.5, muon_share = 0.35, electron_share = 0.15, kaon_share = 0;
    double momentum_mean_gev = 31.34, momentum_sd_gev = 7.52, momentum_min_gev = 15, momentum_max_gev = 75;
    double electron_ring_radius_mm = 189.646;
    double electron_ring_hits = 18.15;  ///< before hits on one PMT merge; 12.9 remain on average
    double mirror_x_mean_mm = -200;     ///< light of tracks near x = 0 reaches both disks
    double mirror_x_sd_mm = 450;

    // For sample = brief:
    double radius_min_mm = 100, radius_max_mm = 195;
    double ring_photons = 20.5;
    double split_share = 0.3;

    double smear_mm = 1.2;
    double hit_time_sd_ns = 0.28;
    double merge_ns = 15;
    std::uint32_t max_hits = 64;  ///< of more hits, random ones are left out

    /// Values of the brief sample: overlaid frame, centres around (0, 0), no accidental rings.
    static RichSimulationConfig brief();
    void validate() const;  ///< Throws ConfigError.
};

extern const Keys<RichSimulationConfig> rich_simulation_keys;

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<rich::SampleKind>{"na62", "brief"};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#include "source/rich_simulation_config.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "source/config_check.hpp"

namespace anello::source {
namespace {

void check_shares(const RichSimulationConfig& config) {
    double sum = 0;
    for (const double share : config.ring_shares) {
        check_range("ring_shares", share, 0, 1);
        sum += share;
    }
    const double particles = config.pion_share + config.muon_share + config.electron_share + config.kaon_share;
    for (const double share : {config.pion_share, config.muon_share, config.electron_share, config.kaon_share})
        check_range("particle shares", share, 0, 1);
    if (sum <= 0 || config.ring_shares.size() > 9)
        throw ConfigError("ring_shares", "must have 1 to 9 shares, not all 0",
                          fmt::format("{} of sum {}", config.ring_shares.size(), sum),
                          "Give the shares of events with 0, 1, 2, ... tracks");
    if (particles <= 0)
        throw ConfigError("pion_share", "particle shares must not all be 0", "0", "Give at least one particle a share");
}

void check_tracks(const RichSimulationConfig& config) {
    check_range("momentum_min_gev", config.momentum_min_gev, 0.1, 1000);
    check_range("momentum_max_gev", config.momentum_max_gev, config.momentum_min_gev, 1000);
    check_range("momentum_mean_gev", config.momentum_mean_gev, config.momentum_min_gev, config.momentum_max_gev);
    check_range("momentum_sd_gev", config.momentum_sd_gev, 0, 1000);
    check_range("electron_ring_radius_mm", config.electron_ring_radius_mm, 50, 400);
    check_range("electron_ring_hits", config.electron_ring_hits, 0, 60);
    check_range("mirror_x_mean_mm", config.mirror_x_mean_mm, -10000, 10000);
    check_range("mirror_x_sd_mm", config.mirror_x_sd_mm, 0, 10000);
    check_range("radius_min_mm", config.radius_min_mm, 1, 1000);
    check_range("radius_max_mm", config.radius_max_mm, config.radius_min_mm, 1000);
    check_range("ring_photons", config.ring_photons, 0, 200);
    check_range("split_share", config.split_share, 0, 1);
}

void check_hits(const RichSimulationConfig& config) {
    check_range("smear_mm", config.smear_mm, 0, 50);
    check_range("hit_time_sd_ns", config.hit_time_sd_ns, 0, 25);
    check_range("merge_ns", config.merge_ns, 0, 1000);
    check_range("max_hits", config.max_hits, 1, 255);
    check_range("noise_hits", config.noise_hits, 0, 200);
    check_range("out_of_time_rings", config.out_of_time_rings, 0, 20);
    check_range("out_of_time_max_ns", config.out_of_time_max_ns, 0, 1000);
    check_range("out_of_time_min_ns", config.out_of_time_min_ns, 0, config.out_of_time_max_ns);
}

}  // namespace

SampleKind parse_sample_kind(const std::string& text) {
    if (text == "na62") return SampleKind::na62;
    if (text == "brief") return SampleKind::brief;
    throw ConfigError("sample", "must be na62 or brief", text, "na62 is the detector, brief the ring finders' sample");
}

RichSimulationConfig RichSimulationConfig::brief() {
    RichSimulationConfig config;
    config.sample = SampleKind::brief;
    config.fit_frame = detector::rich::FitFrame::overlaid;
    config.out_of_time_rings = 0;
    config.centre_x_mm = config.centre_y_mm = 0;
    config.centre_sd_mm = 60;
    config.centre_max_mm = 140;
    config.smear_mm = 2;
    return config;
}

void RichSimulationConfig::validate() const {
    check_shares(*this);
    check_tracks(*this);
    check_hits(*this);
    check_range("centre_x_mm", centre_x_mm, -1000, 1000);
    check_range("centre_y_mm", centre_y_mm, -1000, 1000);
    check_range("centre_sd_mm", centre_sd_mm, 0, 1000);
    // Centres are redrawn until they lie inside: a region far smaller than the spread would take for ever.
    check_range("centre_max_mm", centre_max_mm, centre_sd_mm / 10, 10000);
}

}  // namespace anello::source

// SPDX-License-Identifier: Apache-2.0
#include "rich/source/simulation_config.hpp"

#include <fmt/format.h>

#include <numeric>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::rich {
namespace {

namespace simulation_table {

using C = RichSimulationConfig;
using K = Key<C>;

constexpr auto keys = joined(
    std::array{
        K::of<&C::sample>("sample",
                          "na62: tracks, rings by Cherenkov's law; brief: rings of uniform radius, to compare "
                          "ring finders."),
        K::of<&C::ring_shares>("ring_shares", share.entries(1, 9),
                               "Shares of events with 0, 1, 2, ... in-time tracks; scaled to sum 1."),
        K::of<&C::out_of_time_rings>("out_of_time_rings", {0, 20},
                                     "Mean number of accidental rings per event (Poisson)."),
        K::of<&C::noise_hits>("noise_hits", {0, 200},
                              "Mean number of noise hits per event (Poisson), flat over PMTs and time."),
    },
    for_experts(std::array{
        K::of<&C::n_pool_events>(
            "n_pool_events", {1, 1'000'000},
            "Number of different events that are made at the start, and sent in turn with new times; "
            "of a run that sends fewer, no more than it needs."),
        K::of<&C::fit_frame>("fit_frame", "Where the two disks lie in the common frame."),
        K::of<&C::out_of_time_min_ns>("out_of_time_min_ns", {0, 1000},
                                      "Minimum distance of accidental rings from the event's time, ns."),
        K::of<&C::out_of_time_max_ns>("out_of_time_max_ns", {0, 1000},
                                      "Maximum distance of accidental rings from the event's time, ns."),
        K::of<&C::centre_x_mm>("centre_x_mm", {-1000, 1000}, "Mean ring centre, x."),
        K::of<&C::centre_y_mm>("centre_y_mm", {-1000, 1000}, "Mean ring centre, y."),
        K::of<&C::centre_sd_mm>("centre_sd_mm", {0, 1000}, "Standard deviation of the ring centre, each axis."),
        K::of<&C::centre_max_mm>("centre_max_mm", {0, 10'000}, "Maximum distance of a centre from the mean."),
        K::of<&C::pion_share>("pion_share", share, "Share of tracks that are pions; shares are scaled to sum 1."),
        K::of<&C::muon_share>("muon_share", share, "Share of tracks that are muons."),
        K::of<&C::electron_share>("electron_share", share, "Share of tracks that are electrons."),
        K::of<&C::kaon_share>("kaon_share", share, "Share of tracks that are kaons."),
        K::of<&C::momentum_mean_gev>("momentum_mean_gev", {0.1, 1000}, "Mean track momentum, GeV/c."),
        K::of<&C::momentum_sd_gev>("momentum_sd_gev", {0, 1000}, "Standard deviation of the momentum, GeV/c."),
        K::of<&C::momentum_min_gev>("momentum_min_gev", {0.1, 1000}, "Minimum track momentum, GeV/c."),
        K::of<&C::momentum_max_gev>("momentum_max_gev", {0.1, 1000}, "Maximum track momentum, GeV/c."),
        K::of<&C::electron_ring_radius_mm>("electron_ring_radius_mm", {50, 400},
                                           "Radius of the ring of a particle at the speed of light."),
        K::of<&C::electron_ring_hits>(
            "electron_ring_hits", {0, 60},
            "Mean number of hits of such a ring if it lay entirely on the disks, before photons of one PMT merge."),
        K::of<&C::mirror_x_mean_mm>(
            "mirror_x_mean_mm", {-10'000, 10'000},
            "Mean position where tracks cross the mirrors; light beyond x = 0 goes to the Jura disk."),
        K::of<&C::mirror_x_sd_mm>("mirror_x_sd_mm", {0, 10'000}, "Standard deviation of that position."),
        K::of<&C::radius_min_mm>("radius_min_mm", {1, 1000}, "Sample brief: minimum radius."),
        K::of<&C::radius_max_mm>("radius_max_mm", {1, 1000}, "Sample brief: maximum radius."),
        K::of<&C::ring_photons>("ring_photons", {0, 200},
                                "Sample brief: mean photons of a ring at the plane of the PMTs."),
        K::of<&C::split_share>("split_share", share, "Sample brief: share of rings split over both disks."),
        K::of<&C::smear_mm>("smear_mm", {0, 50}, "Optical smear per axis; with the light collector 4.7 mm per hit."),
        K::of<&C::hit_time_sd_ns>("hit_time_sd_ns", {0, 25}, "Resolution of a hit's time, ns."),
        K::of<&C::merge_ns>("merge_ns", {0, 1000}, "Photons of one PMT within this are one hit, ns."),
        K::of<&C::max_hits>("max_hits", {1, 255}, "Maximum number of hits of an event."),
    }));

}  // namespace simulation_table

void require(bool holds, const char* key, const std::string& rule, double given, const char* remedy) {
    if (!holds) throw ConfigError(std::string("source.simulation.") + key, rule, fmt::format("{}", given), remedy);
}

/// Checks rules between keys.
void check_relations(const RichSimulationConfig& c) {
    require(std::accumulate(c.ring_shares.begin(), c.ring_shares.end(), 0.0) > 0, "ring_shares", "must not all be 0", 0,
            "[0, 1] makes events with one ring");
    require(c.pion_share + c.muon_share + c.electron_share + c.kaon_share > 0, "pion_share",
            "the shares of pions, muons, electrons and kaons must not all be 0", 0, "Set one of them to 1");
    require(c.momentum_min_gev <= c.momentum_max_gev, "momentum_min_gev",
            fmt::format("must not be above momentum_max_gev, {}", c.momentum_max_gev), c.momentum_min_gev,
            "The default is 15");
    require(
        c.momentum_min_gev <= c.momentum_mean_gev && c.momentum_mean_gev <= c.momentum_max_gev, "momentum_mean_gev",
        fmt::format("must be {} to {}, as momentum_min_gev and _max_gev say", c.momentum_min_gev, c.momentum_max_gev),
        c.momentum_mean_gev, "The default is 31.34");
    require(c.radius_min_mm <= c.radius_max_mm, "radius_min_mm",
            fmt::format("must not be above radius_max_mm, {}", c.radius_max_mm), c.radius_min_mm, "The default is 100");
    require(c.out_of_time_min_ns <= c.out_of_time_max_ns, "out_of_time_min_ns",
            fmt::format("must not be above out_of_time_max_ns, {}", c.out_of_time_max_ns), c.out_of_time_min_ns,
            "The default is 8");
    require(c.centre_max_mm >= c.centre_sd_mm / 10, "centre_max_mm",
            fmt::format("must be at least a tenth of centre_sd_mm, {}: centres are drawn until they lie inside",
                        c.centre_sd_mm),
            c.centre_max_mm, "The default is 1000");
}

}  // namespace

constinit const Keys<RichSimulationConfig> rich_simulation_keys{
    "source.simulation", "The simulated RICH: tracks, rings and background. Lengths in the fit frame.",
    simulation_table::keys};

SampleKind parse_sample_kind(const std::string& text) {
    return parse_word<SampleKind>(text, "source.simulation.sample");
}

RichSimulationConfig RichSimulationConfig::brief() {
    RichSimulationConfig config;
    config.sample = SampleKind::brief;
    config.fit_frame = FitFrame::overlaid;
    config.out_of_time_rings = 0;
    config.centre_x_mm = config.centre_y_mm = 0;
    config.centre_sd_mm = 60;
    config.centre_max_mm = 140;
    config.smear_mm = 2;
    return config;
}

void RichSimulationConfig::validate() const {
    rich_simulation_keys.check(*this);
    check_relations(*this);
}

}  // namespace anello::rich

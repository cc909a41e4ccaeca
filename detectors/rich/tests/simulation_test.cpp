// SPDX-License-Identifier: Apache-2.0
#include "rich/source/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/clock.hpp"
#include "core/errors.hpp"

namespace rich = anello::rich;
namespace anello::rich::simulation_test {

using namespace anello::source;

namespace {

RichSimulationConfig electrons_only() {
    RichSimulationConfig config;
    config.ring_shares = {0, 1};
    config.pion_share = config.muon_share = 0;
    config.electron_share = 1;
    config.out_of_time_rings = config.noise_hits = 0;
    return config;
}

double hits_per_event(const EventSample& sample) {
    return static_cast<double>(sample.hits.size()) / sample.n_events();
}

// Radii and thresholds are the tabulated ones for f = 17.02 m and R_e = 189.65 mm.
TEST(CherenkovOptics, GivesTheKnownRadiiAndThresholds) {
    const CherenkovOptics optics(189.65);
    EXPECT_NEAR(optics.refractive_index() - 1, 62e-6, 0.3e-6);
    EXPECT_NEAR(optics.threshold_gev(Particle::muon), 9.48, 0.005);
    EXPECT_NEAR(optics.threshold_gev(Particle::pion), 12.53, 0.005);
    EXPECT_NEAR(optics.threshold_gev(Particle::kaon), 44.3, 0.05);
    EXPECT_NEAR(optics.radius_mm(Particle::pion, 15), 104, 0.5);
    EXPECT_NEAR(optics.radius_mm(Particle::pion, 35), 177, 0.5);
    EXPECT_NEAR(optics.radius_mm(Particle::pion, 75), 187, 0.5);
    EXPECT_NEAR(optics.radius_mm(Particle::muon, 25), 175.5, 0.3);
    EXPECT_NEAR(optics.radius_mm(Particle::electron, 30), 189.65, 0.01);
    EXPECT_EQ(optics.radius_mm(Particle::kaon, 40), 0);
}

TEST(PmtLookup, FindsEachPmtFromItsPlaceAndNothingBetween) {
    const PmtLookup lookup;
    const auto positions = rich::disk_positions();
    for (std::uint32_t pmt = 0; pmt < rich::n_pmts; ++pmt) {
        const double x_mm = static_cast<double>(positions[pmt].x_mm), y_mm = static_cast<double>(positions[pmt].y_mm);
        for (const double step_mm : {-8.9, 0.0, 8.9}) {
            ASSERT_EQ(lookup.pmt_at(pmt / 976, x_mm + step_mm, y_mm), static_cast<std::int32_t>(pmt));
            ASSERT_EQ(lookup.pmt_at(pmt / 976, x_mm, y_mm + step_mm), static_cast<std::int32_t>(pmt));
        }
        ASSERT_EQ(lookup.pmt_at(pmt / 976, x_mm, y_mm + 9.5), PmtLookup::none);  // the gap between three cones
    }
    EXPECT_EQ(lookup.pmt_at(0, 400, 0), PmtLookup::none);
    EXPECT_EQ(lookup.pmt_at(0, std::nan(""), 0), PmtLookup::none);
    EXPECT_EQ(lookup.pmt_at(1, 0, 1e300), PmtLookup::none);
}

TEST(RichSimulation, AnElectronRingHasTheMeasuredYieldAndResolution) {
    const RichSimulationConfig config = electrons_only();
    const EventSample sample = RichSimulation(config).simulate(20'000);
    EXPECT_NEAR(hits_per_event(sample), 12.893, 0.15);  // NA62, run 6610

    const auto fit = rich::fit_positions(config.fit_frame);
    double sum = 0, squares = 0;
    for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
        const TruthRing& ring = sample.rings_of(event)[0];
        EXPECT_EQ(ring.n_hits, sample.hits_of(event).size());
        for (const SampleHit& hit : sample.hits_of(event)) {
            const double distance_mm = static_cast<double>(
                std::hypot(fit[hit.pmt].x_mm - ring.x_mm, fit[hit.pmt].y_mm - ring.y_mm) - ring.radius_mm);
            sum += distance_mm;
            squares += distance_mm * distance_mm;
        }
    }
    const auto n_hits = static_cast<double>(sample.hits.size());
    EXPECT_NEAR(std::sqrt(squares / n_hits), 4.7, 0.1);
    EXPECT_NEAR(sum / n_hits, 0, 0.1);
}

TEST(RichSimulation, YieldFollowsTheSquareOfTheRadius) {
    RichSimulationConfig config = electrons_only();
    config.centre_x_mm = -150, config.centre_y_mm = 0, config.centre_sd_mm = 20;  // so that rings are complete
    config.merge_ns = 0;
    config.mirror_x_sd_mm = 1000;
    const double at_full = hits_per_event(RichSimulation(config).simulate(5'000));
    config.electron_share = 0, config.pion_share = 1;
    config.momentum_min_gev = 20, config.momentum_mean_gev = config.momentum_max_gev = 20.001;
    const double at_20_gev = hits_per_event(RichSimulation(config).simulate(5'000));
    // At merge_ns = 0 only photons in the same PMT within one fine time merge, so the number of hits follows the law.
    EXPECT_NEAR(at_20_gev / at_full, std::pow(148.0 / 189.65, 2), 0.03);
}

TEST(RichSimulation, TheBriefSampleHasItsYieldAndMultiplicity) {
    RichSimulationConfig config = RichSimulationConfig::brief();
    const EventSample mix = RichSimulation(config).simulate(10'000);
    EXPECT_NEAR(static_cast<double>(mix.rings.size()) / 1e4, 0.55 + 2 * 0.15 + 3 * 0.15 + 4 * 0.05, 0.05);
    for (const TruthRing& ring : mix.rings) {
        EXPECT_GE(ring.radius_mm, 100.0F);
        EXPECT_LE(ring.radius_mm, 195.0F);
        EXPECT_LE(std::hypot(ring.x_mm, ring.y_mm), 140.01F);
    }
    config.ring_shares = {0, 1};
    config.noise_hits = 0;
    const EventSample single = RichSimulation(config).simulate(10'000);
    EXPECT_NEAR(hits_per_event(single), 15.8, 0.25);
    std::uint32_t n_on_both = 0;
    double unequal = 0;  // squared difference of the disks' shares, minus the random part
    for (std::uint32_t event = 0; event < single.n_events(); ++event) {
        double n_on[2] = {0, 0};
        for (const SampleHit& hit : single.hits_of(event)) ++n_on[hit.pmt / 976];
        if (n_on[0] == 0 || n_on[1] == 0) continue;
        const double n = n_on[0] + n_on[1], apart = n_on[0] - n_on[1];
        unequal += (apart * apart - n) / (n * (n - 1));
        ++n_on_both;
    }
    EXPECT_NEAR(n_on_both, 3'000, 250);
    EXPECT_GT(unequal / n_on_both, 0) << "cut up to 0.4 radii off the centre, not through it";
}

TEST(RichSimulation, OneTrackLightsBothDisksAsOftenAsInData) {
    const EventSample sample = RichSimulation(electrons_only()).simulate(10'000);
    std::uint32_t n_on_both = 0, n_mostly_jura = 0;
    for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
        std::uint32_t n_on[2] = {0, 0};
        for (const SampleHit& hit : sample.hits_of(event)) ++n_on[hit.pmt / 976];
        n_on_both += n_on[0] > 0 && n_on[1] > 0;
        n_mostly_jura += n_on[0] > n_on[1];
    }
    EXPECT_NEAR(n_on_both / 1e4, 11.0 / 60, 0.10);  // run 8548: 11 of 60 events, 20 mostly on Jura
    EXPECT_NEAR(n_mostly_jura / 1e4, 20.0 / 60, 0.12);
}

TEST(RichSimulation, AccidentalRingsStayOutOfTime) {
    RichSimulationConfig config;
    config.noise_hits = 0;
    config.out_of_time_rings = 1.5;
    const EventSample sample = RichSimulation(config).simulate(4'000);
    std::uint32_t n_out = 0;
    for (std::uint32_t event = 0; event < sample.n_events(); ++event)
        for (const SampleHit& hit : sample.hits_of(event)) {
            const TruthRing& ring = sample.rings_of(event)[static_cast<std::size_t>(hit.ring)];
            const double time_ns = hit.time_fine * anello::fine_time_ns;
            EXPECT_NEAR(time_ns, static_cast<double>(ring.time_ns), 6 * 0.28 + 0.1);
            EXPECT_TRUE(ring.in_time ? ring.time_ns == 0.0F : std::abs(ring.time_ns) >= 8.0F);
        }
    for (const TruthRing& ring : sample.rings) n_out += !ring.in_time;
    EXPECT_NEAR(n_out / 4e3, 1.5, 0.1);
}

TEST(RichSimulation, AnEventDependsOnSeedAndIndexAlone) {
    const RichSimulationConfig config;
    const EventSample all = RichSimulation(config).simulate(100);
    const EventSample late = RichSimulation(config).simulate(10, 90);
    for (std::uint32_t event = 0; event < 10; ++event) {
        EXPECT_TRUE(std::ranges::equal(all.hits_of(90 + event), late.hits_of(event)));
        EXPECT_TRUE(std::ranges::equal(all.rings_of(90 + event), late.rings_of(event)));
    }
    RichSimulationConfig other = config;
    other.seed = 2;
    EXPECT_NE(RichSimulation(other).simulate(100).hits, all.hits);
}

TEST(RichSimulation, GivesTheSameBytesOnEveryMachine) {
    const EventSample sample = RichSimulation(RichSimulationConfig{}).simulate(1'000);
    std::uint64_t hash = 0;
    for (const SampleHit& hit : sample.hits)
        hash = mix64(hash + hit.pmt + (static_cast<std::uint64_t>(static_cast<std::uint16_t>(hit.time_fine)) << 16));
    EXPECT_EQ(hash, 0xace4c24880c5ea3bU);
}

TEST(RichSimulation, KeepsHitsApartAndInOrderAndBounded) {
    RichSimulationConfig config;
    config.ring_shares = {0, 0, 0, 0, 1};
    config.noise_hits = 40;
    const EventSample sample = RichSimulation(config).simulate(500);
    for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
        const auto hits = sample.hits_of(event);
        EXPECT_LE(hits.size(), 64U);
        for (std::size_t i = 1; i < hits.size(); ++i) EXPECT_LE(hits[i - 1].time_fine, hits[i].time_fine);
        for (std::size_t i = 0; i < hits.size(); ++i)
            for (std::size_t j = i + 1; j < hits.size(); ++j)
                EXPECT_TRUE(hits[i].pmt != hits[j].pmt ||
                            (hits[j].time_fine - hits[i].time_fine) * anello::fine_time_ns > 14.9);
    }
}

TEST(RichSimulation, RefusesWhatMakesNoSense) {
    const auto refuses = [](auto change) {
        RichSimulationConfig config;
        change(config);
        EXPECT_THROW(RichSimulation{config}, anello::ConfigError);
    };
    refuses([](auto& c) { c.ring_shares = {}; });
    refuses([](auto& c) { c.ring_shares = {0, 0}; });
    refuses([](auto& c) { c.ring_shares = {1, -0.5}; });
    refuses([](auto& c) { c.noise_hits = std::nan(""); });
    refuses([](auto& c) { c.pion_share = c.muon_share = c.electron_share = 0; });
    refuses([](auto& c) { c.momentum_max_gev = 10; });
    refuses([](auto& c) { c.out_of_time_min_ns = 30; });
    refuses([](auto& c) { c.max_hits = 256; });
    refuses([](auto& c) { c.centre_max_mm = 1; });
    EXPECT_THROW(parse_sample_kind("phys"), anello::ConfigError);
}

TEST(RichSimulation, EveryValueHasItsLimit) {
    using Config = RichSimulationConfig;
    for (const auto value : {&Config::pion_share,         &Config::muon_share,         &Config::electron_share,
                             &Config::kaon_share,         &Config::momentum_min_gev,   &Config::momentum_max_gev,
                             &Config::momentum_mean_gev,  &Config::momentum_sd_gev,    &Config::electron_ring_radius_mm,
                             &Config::electron_ring_hits, &Config::mirror_x_mean_mm,   &Config::mirror_x_sd_mm,
                             &Config::radius_min_mm,      &Config::radius_max_mm,      &Config::ring_photons,
                             &Config::split_share,        &Config::smear_mm,           &Config::hit_time_sd_ns,
                             &Config::merge_ns,           &Config::noise_hits,         &Config::out_of_time_rings,
                             &Config::out_of_time_max_ns, &Config::out_of_time_min_ns, &Config::centre_x_mm,
                             &Config::centre_y_mm,        &Config::centre_sd_mm,       &Config::centre_max_mm}) {
        Config config;
        config.*value = 1e9;
        EXPECT_THROW(config.validate(), anello::ConfigError);
    }
}

TEST(RichSimulation, TakesABeamOfAnyOneParticle) {
    using Config = RichSimulationConfig;
    for (const auto share : {&Config::pion_share, &Config::muon_share, &Config::electron_share, &Config::kaon_share}) {
        Config config;
        config.pion_share = config.muon_share = config.electron_share = config.kaon_share = 0;
        config.*share = 1;
        EXPECT_NO_THROW(config.validate());
    }
}

TEST(EventSample, RefusesEventsThatNoBoardCanSend) {
    EventSample sample;
    const SampleHit beyond{1952, 0};
    EXPECT_THROW(sample.add_event(std::span(&beyond, 1)), anello::ConfigError);
    const std::vector<SampleHit> crowd(256, SampleHit{7, 0});
    EXPECT_THROW(sample.add_event(crowd), anello::ConfigError);
    EXPECT_EQ(sample.n_events(), 0U);
    sample.add_event(std::span(crowd).first(255));
    EXPECT_EQ(sample.hits_of(0).size(), 255U);
}

}  // namespace
}  // namespace anello::rich::simulation_test

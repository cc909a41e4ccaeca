// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "rich/rings/kernels/find_rings.kernel.hpp"
#include "rich/rings/lanes/lanes_scalar.hpp"
#include "rich/rings/ring_quality.hpp"
#include "rich/tests/ring_conformance.hpp"
#include "rich/tests/rings/score.hpp"

/// Compares the likelihood of the second tier with its definition, in double precision.
namespace anello::rich {
namespace {

using Lanes = ScalarLanes;

/// Chords of a disc convolved with a Gaussian, normalised to unit area, from a sum over many chords.
double profile_per_mm(double miss_mm, double radius_mm, double smear_mm) {
    constexpr int n = 4000;
    double sum = 0;
    for (int k = 0; k < n; ++k) {
        const double t = radius_mm * ((2 * k + 1.0) / n - 1), pull = (miss_mm - t) / smear_mm;
        sum += 2 * std::sqrt(radius_mm * radius_mm - t * t) * std::exp(-pull * pull / 2);
    }
    const double step_mm = 2 * radius_mm / n, area_mm2 = std::numbers::pi * radius_mm * radius_mm;
    return sum * step_mm / (smear_mm * std::sqrt(2 * std::numbers::pi) * area_mm2);
}

double width_mm(double radius_mm, double smear_mm) {
    return 2 * std::sqrt(radius_mm * radius_mm / 4 + smear_mm * smear_mm);
}

constexpr double radius_mm = 9;

ProfileShape shape_for(double smear_mm) {
    return shape_of<Lanes>(static_cast<float>(smear_mm / radius_mm));
}

TEST(Mixture, TheProfileIsADiscConvolvedWithTheSmear) {
    for (const double smear_mm : {1.2, 1.5, 2.0, 3.0}) {
        const double width = width_mm(radius_mm, smear_mm), middle = profile_per_mm(0, radius_mm, smear_mm);
        EXPECT_NEAR(middle * width, double{shape_for(smear_mm).middle}, 0.01) << smear_mm;
        for (double miss_mm = 0; miss_mm < 20; miss_mm += 0.5) {
            const auto x = static_cast<float>(miss_mm / width);
            const double density = double{Profile<Lanes>(shape_for(smear_mm), x * x).density()};
            EXPECT_NEAR(density, profile_per_mm(miss_mm, radius_mm, smear_mm) / middle, 0.05)
                << smear_mm << " mm of smear, " << miss_mm << " mm from the ring";
        }
    }
}

TEST(Mixture, TheFallIsTheProfilesSlope) {
    constexpr double half = 1e-3;
    const ProfileShape shape = shape_for(2);
    const auto log_density = [&](double x) {
        return std::log(double{Profile<Lanes>(shape, static_cast<float>(x * x)).density()});
    };
    for (double x = -1.5; x <= 1.5; x += 0.05) {
        const auto at = static_cast<float>(x);
        EXPECT_NEAR(double{Profile<Lanes>(shape, at * at).fall(at)},
                    (log_density(x - half) - log_density(x + half)) / (2 * half), 0.01)
            << x;
    }
}

/// The information is the mean square of the slope of the logarithm.
TEST(Mixture, TheInformationOfAHitIsThatOfTheProfile) {
    for (const double smear_mm : {1.2, 2.0, 3.0}) {
        const double width = width_mm(radius_mm, smear_mm);
        double information = 0;
        for (double x = -2; x < 2; x += 0.01) {
            const auto at = static_cast<float>(x);
            information += profile_per_mm(x * width, radius_mm, smear_mm) * width * 0.01 *
                           std::pow(double{Profile<Lanes>(shape_for(smear_mm), at * at).fall(at)}, 2);
        }
        EXPECT_NEAR(double{shape_for(smear_mm).information} / information, 1, 0.15) << smear_mm;
    }
}

TEST(Mixture, TheLogarithmIsOne) {
    for (double x = 1; x < 1e6; x *= 1.0173) {
        const auto at = static_cast<float>(x);
        EXPECT_NEAR(double{natural_log<Lanes>(at)}, std::log(double{at}), 2e-5) << x;
    }
}

EventHits hits_of(const rings::Sample& sample, std::uint32_t event) {
    EventHits hits;
    std::uint8_t flags = 0;
    load_hits<Lanes>(span_of<Lanes>(conformance::view_of(sample), event), {}, hits, flags);
    return hits;
}

RingSet true_rings(const rings::Sample& sample, std::uint32_t event) {
    RingSet rings{};
    for (std::uint32_t k = sample.ring_offset[event]; k < sample.ring_offset[event + 1]; ++k) {
        rings.a[rings.n] = sample.ring[k].x_mm / unit_mm;
        rings.b[rings.n] = sample.ring[k].y_mm / unit_mm;
        rings.r[rings.n++] = sample.ring[k].radius_mm / unit_mm;
    }
    return rings;
}

/// The likelihood by its definition, with the profile of the kernel.
double log_likelihood_of(const EventHits& hits, const RingSet& rings, const MultiRingParameters& p) {
    const double width = width_mm(double{p.pmt_radius_mm}, double{p.smear_mm});
    const ProfileShape shape = shape_of<Lanes>(p.smear_mm / p.pmt_radius_mm);
    const double noise_per_mm2 = double{p.noise_hits} / double{disk_area_mm2};
    double sum = 0;
    for (int i = 0; i < hits.n; ++i) {
        double density = noise_per_mm2;
        for (int k = 0; k < rings.n; ++k) {
            const double miss_mm =
                100 * (std::hypot(double{hits.u[i]} - double{rings.a[k]}, double{hits.v[i]} - double{rings.b[k]}) -
                       double{rings.r[k]});
            const double x2 = std::pow(miss_mm / width, 2),
                         h = 1 / (1 + double{shape.second} * x2 + double{shape.sixth} * x2 * x2 * x2);
            density += double{p.yield_hits} / (2 * std::numbers::pi * 100 * double{rings.r[k]}) * double{shape.middle} /
                       width * h * h;
        }
        sum += std::log(density / noise_per_mm2);
    }
    return sum - rings.n * double{p.yield_hits + p.ring_prior};
}

TEST(Mixture, TheLikelihoodFollowsItsDefinition) {
    const MultiRingParameters p;
    const auto sample = conformance::sample_of(3, 9400, 50);
    MixtureTable<Lanes> table;
    for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
        const EventHits hits = hits_of(sample, event);
        const RingSet rings = true_rings(sample, event);
        const MixtureModel model = model_of<Lanes>(p, 1);
        expect<Lanes>(hits, rings, model, table);
        EXPECT_NEAR(double{log_likelihood<Lanes>(hits, rings, model, table)}, log_likelihood_of(hits, rings, p), 0.01);
    }
}

TEST(Mixture, TheFitMakesRingsLikelier) {
    const MultiRingParameters p;
    const auto sample = conformance::sample_of(3, 9500, 300);
    MixtureTable<Lanes> table;
    double gained = 0;
    int n_worse = 0;
    for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
        const EventHits hits = hits_of(sample, event);
        RingSet start = true_rings(sample, event);
        for (int k = 0; k < start.n; ++k) start.a[k] += 0.04f;
        const RingSet fitted = fit_mixture<Lanes>(hits, p, start, table).rings;
        if (fitted.n < start.n) continue;  // a ring with few hits was dropped
        const double gain = log_likelihood_of(hits, fitted, p) - log_likelihood_of(hits, start, p);
        gained += gain;
        n_worse += gain < -0.5;
    }
    EXPECT_GT(gained / sample.n_events(), 3);
    EXPECT_LT(n_worse, 0.03 * sample.n_events());
}

/// A ring without hits adds no likelihood.
TEST(Mixture, ARingWithoutHitsGoes) {
    const MultiRingParameters p;
    const auto sample = conformance::sample_of(2, 9600, 100);
    MixtureTable<Lanes> table;
    int n_two = 0;
    for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
        const EventHits hits = hits_of(sample, event);
        RingSet rings = true_rings(sample, event);
        rings.a[rings.n] = 3;
        rings.b[rings.n] = -3;
        rings.r[rings.n] = 1.2f;
        rings.own[rings.n++] = 10;
        settle<Lanes>(hits, p, rings, table);
        n_two += rings.n == 2;
    }
    EXPECT_GT(n_two, 85);
}

double surprise(double radius_mm, const MultiRingParameters& p) {
    const double pull = (radius_mm - double{p.radius_mean_mm}) / double{p.radius_sd_mm};
    return 2 * std::log1p(pull * pull / 3);
}

MultiRingParameters with_radii(float mean_mm, float sd_mm) {
    MultiRingParameters p;
    p.radius_mean_mm = mean_mm;
    p.radius_sd_mm = sd_mm;
    return p;
}

TEST(Mixture, ARadiusCostsWhatIsKnownOfItBeforehand) {
    const MultiRingParameters p = with_radii(180, 12);
    const MixtureModel model = model_of<Lanes>(p, 1), knows_nothing = model_of<Lanes>({}, 1);
    for (const float r_mm : {90.0f, 150.0f, 170.0f, 180.0f, 200.0f}) {
        EXPECT_NEAR(double{surprise_of<Lanes>(model, r_mm / unit_mm)}, surprise(double{r_mm}, p), 1e-3) << r_mm;
        EXPECT_NEAR(double{cost_of<Lanes>(model, r_mm / unit_mm) - surprise_of<Lanes>(model, r_mm / unit_mm)},
                    double{p.yield_hits + p.ring_prior}, 1e-3);
        EXPECT_NEAR(double{surprise_of<Lanes>(knows_nothing, r_mm / unit_mm)}, 0, 1e-4);
        EXPECT_EQ(expectation_of<Lanes>(knows_nothing, r_mm / unit_mm).hits, 0);
    }
}

/// The pull of the prior on a step is the slope of its cost.
TEST(Mixture, AnExpectedRadiusDrawsByItsSlope) {
    const MultiRingParameters p = with_radii(180, 12);
    const MixtureModel model = model_of<Lanes>(p, 1);
    const double width = width_mm(double{p.pmt_radius_mm}, double{p.smear_mm}), half_mm = 0.01;
    for (double r_mm = 120; r_mm < 210; r_mm += 7) {
        const auto drawn = expectation_of<Lanes>(model, static_cast<float>(r_mm) / unit_mm);
        const double slope_per_mm = (surprise(r_mm + half_mm, p) - surprise(r_mm - half_mm, p)) / (2 * half_mm);
        EXPECT_NEAR(double{drawn.hits * drawn.miss * unit_mm * model.shape.information} / (width * width),
                    -slope_per_mm, 1e-4)
            << r_mm;
    }
}

/// Hits on a third of a circle hardly distinguish its radius from the distance of its centre.
TEST(Mixture, ARadiusThatHitsHardlyTellIsDrawnToItsMean) {
    std::mt19937_64 random(9650);
    std::normal_distribution<double> smear_mm(0, 4.5), spread_mm(0, 5);
    std::uniform_real_distribution<double> angle(0, 2.1);
    MixtureTable<Lanes> table;
    double squared_mm2[2] = {0, 0};
    for (int event = 0; event < 400; ++event) {
        const double radius = 180 + spread_mm(random);
        EventHits hits{};
        for (int i = 0; i < 12; ++i) {
            const double phi = angle(random), r = (radius + smear_mm(random)) / 100;
            const auto u = static_cast<float>(r * std::cos(phi)), v = static_cast<float>(r * std::sin(phi));
            hits.u[i] = u;
            hits.v[i] = v;
            hits.z[i] = u * u + v * v;
        }
        hits.n = 12;
        fill_up<Lanes>(hits, hits.n);
        RingSet start{};
        start.r[0] = static_cast<float>(radius / 100);
        start.n = 1;
        for (const int knows : {0, 1}) {
            MultiRingParameters p = with_radii(180, knows != 0 ? 5.0f : 0.0f);
            p.refit_steps = 20;
            const RingSet fitted = fit_mixture<Lanes>(hits, p, start, table).rings;
            if (fitted.n == 1) squared_mm2[knows] += std::pow(100 * double{fitted.r[0]} - radius, 2);
        }
    }
    EXPECT_LT(squared_mm2[1], 0.5 * squared_mm2[0]);
}

/// Candidates around the true rings: some are true rings moved a little, some belong to no ring.
Pool candidates_near(const RingSet& rings, std::mt19937_64& random) {
    std::uniform_real_distribution<float> away(-0.3f, 0.3f);
    Pool pool{};
    for (; pool.n < 20; ++pool.n) {
        const int k = pool.n % rings.n;
        pool.a[pool.n] = rings.a[k] + away(random);
        pool.b[pool.n] = rings.b[k] + away(random);
        pool.r[pool.n] = rings.r[k] + away(random) / 2;
        pool.strength[pool.n] = 5;
    }
    fill_up<Lanes>(pool);
    return pool;
}

double greatest_gain(const EventHits& hits, const MultiRingParameters& p, const Pool& pool, const RingSet& rings) {
    double greatest = -1e9;
    for (int candidate = 0; candidate < pool.n; ++candidate)
        for (int ring = 0; ring <= rings.n; ++ring) {
            RingSet other = rings;
            exchange_ring<Lanes>(pool, {candidate, ring, 0}, other);
            const double far = ring == rings.n ? 1
                                               : std::hypot(double{pool.a[candidate] - rings.a[ring]},
                                                            double{pool.b[candidate] - rings.b[ring]},
                                                            double{pool.r[candidate] - rings.r[ring]});
            if (far * 100 < double{p.twin_mm}) continue;
            greatest = std::max(greatest, log_likelihood_of(hits, other, p) - log_likelihood_of(hits, rings, p));
        }
    return greatest;
}

/// When one of the rings is missing or wrong, the best exchange is the one that the definition gives as best of all.
TEST(Exchange, TheBestIsTheLikeliestOfAll) {
    const MultiRingParameters p;
    std::mt19937_64 random(9651);
    double off_likelihood = 0, off_best = 0;
    int n_events = 0;
    MixtureTable<Lanes> table;
    for (const int n_rings : {1, 2, 3, 4, 5}) {
        const auto sample = conformance::sample_of(n_rings, 9660, 40);
        for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
            const EventHits hits = hits_of(sample, event);
            RingSet rings = true_rings(sample, event);
            const Pool pool = candidates_near(rings, random);
            if (event % 2 == 0)
                rings.a[0] += 0.5f;
            else
                --rings.n;
            const MixtureModel model = model_of<Lanes>(p, 1);
            expect<Lanes>(hits, rings, model, table);
            const Exchange best = best_exchange<Lanes>(hits, p, pool, model, rings, table);
            RingSet other = rings;
            exchange_ring<Lanes>(pool, best, other);
            const double gain = log_likelihood_of(hits, other, p) - log_likelihood_of(hits, rings, p);
            off_likelihood += std::abs(double{best.gain} - gain);
            const double behind = greatest_gain(hits, p, pool, rings) - gain;
            EXPECT_LT(behind, 4) << n_rings << " rings, event " << event;
            off_best += behind;
            ++n_events;
        }
    }
    // The kernel's misses are linear, so they are exact to first order only.
    EXPECT_LT(off_likelihood / n_events, 0.7);
    EXPECT_LT(off_best / n_events, 0.1);
}

/// A ring with twice the usual hits would be more likely two rings in one place.
TEST(Exchange, ABrightRingIsNotTakenForTwo) {
    std::mt19937_64 random(9653);
    std::normal_distribution<float> smear_mm(0, 4.5f);
    std::uniform_real_distribution<float> angle(0, 6.2831853f);
    for (int event = 0; event < 200; ++event) {
        float x_mm[60], y_mm[60];
        for (int i = 0; i < 60; ++i) {
            const float phi = angle(random), r_mm = 160 + smear_mm(random);
            x_mm[i] = r_mm * std::cos(phi);
            y_mm[i] = r_mm * std::sin(phi);
        }
        const std::uint32_t offset[] = {0, 60};
        EventRings found;
        RingFinder(RingFinderConfig{}).find({1, offset, x_mm, y_mm}, &found);
        EXPECT_EQ(found.n_rings, 1) << "event " << event;
    }
}

/// The search for the strongest candidates halves the range of strengths repeatedly.
TEST(Candidates, TheStrongestStay) {
    std::mt19937_64 random(9652);
    std::uniform_real_distribution<float> strength(3.5f, 25);
    Candidates candidates{};
    std::vector<float> of_odd;
    for (int& k = candidates.n; k < 64; ++k) {
        candidates.strength[k] = strength(random);
        if (k % 2 == 1) of_odd.push_back(candidates.strength[k]);
    }
    std::sort(of_odd.rbegin(), of_odd.rend());
    constexpr std::uint64_t odd = 0xAAAA'AAAA'AAAA'AAAA;
    for (const int left : {1, 16, 31, 32}) {
        std::vector<float> kept;
        const std::uint64_t chosen = strongest_of<Lanes>(candidates, odd, left);
        EXPECT_EQ(chosen & ~odd, 0U);
        for (int k = 0; k < 64; ++k)
            if ((chosen >> k & 1) != 0) kept.push_back(candidates.strength[k]);
        std::sort(kept.rbegin(), kept.rend());
        ASSERT_LE(kept.size(), static_cast<std::size_t>(left));
        EXPECT_GE(kept.size() + 1, static_cast<std::size_t>(left));
        for (std::size_t k = 0; k < kept.size(); ++k) EXPECT_EQ(kept[k], of_odd[k]);
    }
}

std::vector<EventRings> found_of(const RingFinderConfig& config, const rings::Sample& sample) {
    std::vector<EventRings> out(sample.n_events());
    RingFinder(config).find(conformance::view_of(sample), out.data());
    return out;
}

rings::Score score_of(const MultiRingParameters& p, const rings::Sample& sample) {
    RingFinderConfig config;
    config.multiring = p;
    const std::vector<EventRings> out = found_of(config, sample);
    rings::Score score;
    for (std::size_t e = 0; e < out.size(); ++e) {
        std::vector<rings::FoundRing> found;
        for (int k = 0; k < out[e].n_rings; ++k)
            found.push_back({out[e].ring[k].x_mm, out[e].ring[k].y_mm, out[e].ring[k].radius_mm});
        const std::size_t first = sample.ring_offset[e], n = sample.ring_offset[e + 1] - first;
        score.add({sample.ring.data() + first, n}, found);
    }
    return score;
}

/// Without a step of the finder more rings are lost, at least one per n_events, or 10 % more ghosts are found.
void expect_worse_without(std::uint32_t MultiRingParameters::*step, const rings::Sample& sample, long n_events_a_ring) {
    MultiRingParameters p;
    const rings::Score with = score_of(p, sample);
    p.*step = 0;
    const rings::Score without = score_of(p, sample);
    EXPECT_GT(with.within_5, without.within_5 + sample.n_events() / n_events_a_ring);
    EXPECT_LT(with.n_ghosts, 0.9 * static_cast<double>(without.n_ghosts));
}

TEST(Mixture, DoubtfulRingsLookedForAnewAreFoundMoreOften) {
    expect_worse_without(&MultiRingParameters::max_restarts, conformance::sample_of(3, 9700, 3000), 100);
}

TEST(Exchange, LikelierCandidatesAreFoundMoreOften) {
    expect_worse_without(&MultiRingParameters::max_exchanges, conformance::sample_of(4, 9710, 3000), 50);
}

/// For one ring, which the first tier fits: a search around it with the definition, in double precision, is not better.
TEST(Mixture, ARingAloneIsWhereItsHitsAreLikeliest) {
    const MultiRingParameters p;
    const auto sample = conformance::sample_of(1, 9720, 400);
    const auto found = found_of({}, sample);
    int n_rings = 0, n_still = 0;
    for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
        if (found[event].n_rings != 1) continue;
        const EventHits hits = hits_of(sample, event);
        const Ring& ring = found[event].ring[0];
        RingSet best{};
        best.a[0] = ring.x_mm / unit_mm;
        best.b[0] = ring.y_mm / unit_mm;
        best.r[0] = ring.radius_mm / unit_mm;
        best.n = 1;
        const double before = log_likelihood_of(hits, best, p);
        double after = before;
        for (float step = 0.02f; step > 0.001f; step /= 2)
            for (int turn = 0; turn < 6; ++turn)
                for (float* const value : {&best.a[0], &best.b[0], &best.r[0]})
                    for (const float moved : {*value + step, *value - step}) {
                        const float kept = std::exchange(*value, moved);
                        const double likelihood = log_likelihood_of(hits, best, p);
                        if (likelihood > after)
                            after = likelihood;
                        else
                            *value = kept;
                    }
        ++n_rings;
        n_still += after - before < 0.25;
    }
    EXPECT_GT(n_rings, 370);
    EXPECT_GT(n_still, 0.9 * n_rings);
}

/// An event that needs more work than the limit is flagged; the others are the same as without a limit.
TEST(Work, AnEventThatTakesMoreIsCutAndSaysSo) {
    const auto sample = conformance::sample_of(4, 9730, 300);
    RingFinderConfig config;
    config.multiring.max_work = 0;
    const auto unlimited = found_of(config, sample);
    std::size_t n_cut_before = 0;
    for (const std::uint32_t thousands : {100U, 45U, 30U, 1U}) {
        config.multiring.max_work = thousands;
        const auto found = found_of(config, sample);
        std::size_t n_cut = 0, n_rings = 0;
        for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
            const bool is_cut = (found[event].flags & search_cut) != 0;
            n_cut += is_cut ? 1 : 0;
            n_rings += found[event].n_rings;
            EXPECT_EQ(unlimited[event].flags & search_cut, 0);
            if (!is_cut) EXPECT_EQ(conformance::values_of(found[event]), conformance::values_of(unlimited[event]));
        }
        EXPECT_GE(n_cut, n_cut_before);
        EXPECT_GT(n_rings, 3 * sample.n_events()) << "the best so far is kept";
        n_cut_before = n_cut;
    }
    EXPECT_GT(n_cut_before, 290U);
}

/// Qualities of the true rings, so that the comparison does not depend on a finder.
struct Judged {
    rings::Sample sample;
    std::vector<EventRings> events;
    std::vector<std::array<RingQuality, max_rings_per_event>> quality;
    std::vector<std::int8_t> hit_ring;
};

Judged judged_truth(int n_rings, std::uint64_t seed, int n_events) {
    Judged out{conformance::sample_of(n_rings, seed, n_events), {}, {}, {}};
    out.events.resize(out.sample.n_events());
    out.quality.resize(out.sample.n_events());
    out.hit_ring.resize(out.sample.x_mm.size());
    for (std::uint32_t event = 0; event < out.sample.n_events(); ++event) {
        EventRings& found = out.events[event];
        for (std::uint32_t k = out.sample.ring_offset[event]; k < out.sample.ring_offset[event + 1]; ++k)
            found.ring[found.n_rings++] = {out.sample.ring[k].x_mm, out.sample.ring[k].y_mm,
                                           out.sample.ring[k].radius_mm, 0};
        judge_rings({}, conformance::view_of(out.sample), event, found, out.quality[event].data(),
                    out.hit_ring.data() + out.sample.hit_offset[event]);
    }
    return out;
}

TEST(RingQuality, TheLikelihoodRatioIsWhatTheLikelihoodLosesWithoutTheRing) {
    const MultiRingParameters p;
    for (const int n_rings : {1, 2, 3, 4}) {
        const Judged truth = judged_truth(n_rings, 9500, 100);
        for (std::uint32_t event = 0; event < truth.sample.n_events(); ++event) {
            const EventHits hits = hits_of(truth.sample, event);
            const RingSet rings = true_rings(truth.sample, event);
            for (int k = 0; k < rings.n; ++k) {
                RingSet without = rings;
                remove_ring<Lanes>(without, k);
                const double ratio =
                    log_likelihood_of(hits, rings, p) - log_likelihood_of(hits, without, p) + double{p.ring_prior};
                EXPECT_NEAR(double{truth.quality[event][static_cast<std::size_t>(k)].log_likelihood_ratio}, ratio, 0.02)
                    << n_rings << " rings, event " << event;
            }
        }
    }
}

/// Rings cross, and noise hits are on rings: a few per cent of the hits cannot be assigned correctly.
TEST(RingQuality, HitsAreAssignedToTheRingThatMadeThem) {
    const double least[] = {1, 0.96, 0.92, 0.88};
    for (const int n_rings : {1, 2, 3}) {
        const Judged truth = judged_truth(n_rings, 9600, 1000);
        std::size_t right = 0, n_assigned = 0;
        for (std::size_t i = 0; i < truth.hit_ring.size(); ++i) {
            right += truth.hit_ring[i] == truth.sample.label[i];
            n_assigned += truth.hit_ring[i] >= 0;
        }
        EXPECT_GT(static_cast<double>(right), least[n_rings] * static_cast<double>(truth.hit_ring.size())) << n_rings;
        std::size_t sum = 0;
        for (std::uint32_t event = 0; event < truth.sample.n_events(); ++event)
            for (std::size_t k = 0; k < truth.events[event].n_rings; ++k) sum += truth.quality[event][k].n_assigned;
        EXPECT_EQ(sum, n_assigned);
    }
}

/// For a full ring of n hits, the variances of centre and radius are 2/n and 1/n of a hit's variance.
TEST(RingQuality, TheCovarianceOfAFullRingIsTheTextbooks) {
    constexpr int n = 32;
    std::vector<float> x_mm, y_mm;
    for (int i = 0; i < n; ++i) {
        x_mm.push_back(static_cast<float>(40 + 150 * std::cos(2 * std::numbers::pi * i / n)));
        y_mm.push_back(static_cast<float>(-30 + 150 * std::sin(2 * std::numbers::pi * i / n)));
    }
    const std::uint32_t offset[] = {0, n};
    const EventRings found{1, 0, {{40, -30, 150, n}}};
    RingQuality quality{};
    judge_rings({}, {1, offset, x_mm.data(), y_mm.data()}, 0, found, &quality, nullptr);
    EXPECT_EQ(quality.n_assigned, n);
    const auto& c = quality.covariance_mm2;
    const double hit_variance_mm2 = double{c[8]} * n;
    EXPECT_NEAR(std::sqrt(hit_variance_mm2), std::sqrt(9 * 9 / 4.0 + 2 * 2), 0.6);
    EXPECT_NEAR(double{c[0]}, 2 * double{c[8]}, 0.01);
    EXPECT_NEAR(double{c[4]}, 2 * double{c[8]}, 0.01);
    for (const std::size_t k : {1, 2, 3, 5, 6, 7}) EXPECT_NEAR(double{c[k]}, 0, 0.01) << k;
}

TEST(RingQuality, HitsThatAreNoCircleTellNothing) {
    const std::uint32_t offset[] = {0, 4, 4, 2};
    const float x_mm[] = {150, 150, 150, 1e9F}, y_mm[] = {0, 0, 0, 0};
    const EventRings found{1, 0, {{0, 0, 150, 3}}};
    for (std::uint32_t event = 0; event < 3; ++event) {  // hits in one place, no hits, decreasing offsets
        RingQuality quality{};
        std::int8_t hit_ring[] = {7, 7, 7, 7};
        judge_rings({}, {3, offset, x_mm, y_mm}, event, found, &quality, hit_ring);
        EXPECT_TRUE(std::isinf(quality.covariance_mm2[0]) && std::isinf(quality.covariance_mm2[8])) << event;
        EXPECT_TRUE(std::isfinite(quality.log_likelihood_ratio)) << event;
        EXPECT_EQ(hit_ring[3], event == 0 ? -1 : 7) << event;
    }
}

}  // namespace
}  // namespace anello::rich

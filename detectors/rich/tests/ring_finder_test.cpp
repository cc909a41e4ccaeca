// SPDX-License-Identifier: Apache-2.0
#include "rich/rings/ring_finder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <vector>

#include "core/errors.hpp"

namespace anello::rich::ring_finder_test {
namespace {

using anello::Isa;

struct Batch {
    std::vector<std::uint32_t> offset{0};
    std::vector<float> x, y;

    Batch& hit(double x_mm, double y_mm) {
        x.push_back(static_cast<float>(x_mm));
        y.push_back(static_cast<float>(y_mm));
        return *this;
    }
    Batch& circle(double x_mm, double y_mm, double radius_mm, int n) {
        for (int k = 0; k < n; ++k) {
            const double phi = 2 * std::numbers::pi * k / n + 0.1;
            hit(x_mm + radius_mm * std::cos(phi), y_mm + radius_mm * std::sin(phi));
        }
        return *this;
    }
    Batch& end() {
        offset.push_back(static_cast<std::uint32_t>(x.size()));
        return *this;
    }
    HitsView view() const { return {static_cast<std::uint32_t>(offset.size() - 1), offset.data(), x.data(), y.data()}; }
};

std::vector<EventRings> find(const Batch& batch, RingFinderConfig config = {}) {
    std::vector<EventRings> out(batch.view().n_events);
    RingFinder(config).find(batch.view(), out.data());
    return out;
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

TEST(RingFinderConfig, names_are_read_and_written) {
    for (const auto* name : {"crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring"})
        EXPECT_EQ(name_of(parse_algorithm(name)), name);
    for (const auto* name : {"automatic", "scalar", "sse42", "avx2", "avx512"})
        EXPECT_EQ(name_of(anello::parse_word<Isa>(name, "isa")), name);
}

TEST(RingFinderConfig, an_unknown_name_lists_the_known_ones) {
    try {
        parse_algorithm("hough");
        FAIL();
    } catch (const anello::ConfigError& error) {
        EXPECT_NE(error.rule().find("multiring"), std::string::npos);
        EXPECT_NE(error.rule().find("crawford"), std::string::npos);
        EXPECT_EQ(error.given(), "hough");
    }
    EXPECT_THROW(anello::parse_word<Isa>("neon", "isa"), anello::ConfigError);
}

TEST(RingFinderConfig, absurd_values_are_refused) {
    const auto refused = [](auto change) {
        RingFinderConfig config;
        change(config);
        EXPECT_THROW(RingFinder{config}, anello::ConfigError);
    };
    refused([](auto& c) { c.acceptance.radius_max_mm = c.acceptance.radius_min_mm; });
    refused([](auto& c) { c.acceptance.centre_max_mm = nan; });
    refused([](auto& c) { c.acceptance.centre_x_mm = inf; });
    refused([](auto& c) { c.multiring.beam_width = 9; });
    refused([](auto& c) { c.multiring.groups = 5; });
    refused([](auto& c) { c.multiring.pool_size = 65; });
    refused([](auto& c) { c.histogram.bin_mm = 0; });
    refused([](auto& c) { c.single.flatness = 0; });
}

/// A value above a parameter's maximum must be refused.
template <typename Part, typename T>
void expect_bounded(Part RingFinderConfig::*part, T Part::*parameter, const std::string& field) {
    RingFinderConfig config;
    (config.*part).*parameter = std::numeric_limits<T>::max();
    try {
        config.validate();
        ADD_FAILURE() << field << " has no upper bound";
    } catch (const anello::ConfigError& error) {
        EXPECT_EQ(error.field(), field);
    }
}

TEST(RingFinderConfig, a_bound_belongs_to_what_is_allowed) {
    RingFinderConfig config;
    config.almagest.attach_mm = 500;
    EXPECT_NO_THROW(config.validate());
    config.almagest.attach_mm = 500.5f;
    EXPECT_THROW(config.validate(), anello::ConfigError);
}

TEST(RingFinderConfig, no_parameter_is_without_bound) {
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::min_pair_mm, "trigger.almagest.min_pair_mm");
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::max_triplet_radius_mm,
                   "trigger.almagest.max_triplet_radius_mm");
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::ptolemy_mm2, "trigger.almagest.ptolemy_mm2");
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::attach_mm, "trigger.almagest.attach_mm");
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::sigma_mm, "trigger.almagest.sigma_mm");
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::max_pull2, "trigger.almagest.max_pull2");
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::max_drops, "trigger.almagest.max_drops");
    expect_bounded(&RingFinderConfig::almagest, &AlmagestParameters::min_ring_hits, "trigger.almagest.min_ring_hits");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::final_window_mm, "trigger.single.final_window_mm");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::flatness, "trigger.single.flatness");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::geometric_steps, "trigger.single.geometric_steps");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::count_window_mm, "trigger.single.count_window_mm");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::min_ring_hits, "trigger.single.min_ring_hits");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::max_hits, "trigger.single.max_hits");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::max_unexplained, "trigger.single.max_unexplained");
    expect_bounded(&RingFinderConfig::single, &SingleParameters::max_unexplained_share,
                   "trigger.single.max_unexplained_share");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::min_hits, "trigger.multiring.min_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::groups, "trigger.multiring.groups");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::groups_many, "trigger.multiring.groups_many");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::many_hits, "trigger.multiring.many_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::triplets_per_lane,
                   "trigger.multiring.triplets_per_lane");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::triplets_many,
                   "trigger.multiring.triplets_many");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::draws_per_triplet,
                   "trigger.multiring.draws_per_triplet");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::seed_window_mm,
                   "trigger.multiring.seed_window_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::refine_window_mm,
                   "trigger.multiring.refine_window_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::flatness, "trigger.multiring.flatness");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::distinct_mm, "trigger.multiring.distinct_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::min_strength, "trigger.multiring.min_strength");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::pool_size, "trigger.multiring.pool_size");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::score_unit, "trigger.multiring.score_unit");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::score_window_mm,
                   "trigger.multiring.score_window_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::ring_cost_hits,
                   "trigger.multiring.ring_cost_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::beam_width, "trigger.multiring.beam_width");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::beam_margin_hits,
                   "trigger.multiring.beam_margin_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::refit_steps, "trigger.multiring.refit_steps");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::refit_stride, "trigger.multiring.refit_stride");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::refit_widening,
                   "trigger.multiring.refit_widening");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::doubt_share, "trigger.multiring.doubt_share");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::doubt_rest_hits,
                   "trigger.multiring.doubt_rest_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::max_restarts, "trigger.multiring.max_restarts");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::max_exchanges,
                   "trigger.multiring.max_exchanges");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::exchange_loss,
                   "trigger.multiring.exchange_loss");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::twin_mm, "trigger.multiring.twin_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::single_steps, "trigger.multiring.single_steps");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::max_work, "trigger.multiring.max_work");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::radius_mean_mm,
                   "trigger.multiring.radius_mean_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::radius_sd_mm, "trigger.multiring.radius_sd_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::yield_hits, "trigger.multiring.yield_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::noise_hits, "trigger.multiring.noise_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::smear_mm, "trigger.multiring.smear_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::pmt_radius_mm,
                   "trigger.multiring.pmt_radius_mm");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::ring_prior, "trigger.multiring.ring_prior");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::retry_hits, "trigger.multiring.retry_hits");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::max_retries, "trigger.multiring.max_retries");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::retry_strength,
                   "trigger.multiring.retry_strength");
    expect_bounded(&RingFinderConfig::multiring, &MultiRingParameters::min_own_hits, "trigger.multiring.min_own_hits");
    expect_bounded(&RingFinderConfig::histogram, &HistogramParameters::half_width_mm,
                   "trigger.histogram.half_width_mm");
    expect_bounded(&RingFinderConfig::histogram, &HistogramParameters::bin_mm, "trigger.histogram.bin_mm");
    expect_bounded(&RingFinderConfig::histogram, &HistogramParameters::fine_bin_mm, "trigger.histogram.fine_bin_mm");
    expect_bounded(&RingFinderConfig::histogram, &HistogramParameters::threshold, "trigger.histogram.threshold");
    expect_bounded(&RingFinderConfig::acceptance, &Acceptance::centre_x_mm, "trigger.acceptance.centre_x_mm");
    expect_bounded(&RingFinderConfig::acceptance, &Acceptance::centre_y_mm, "trigger.acceptance.centre_y_mm");
    expect_bounded(&RingFinderConfig::acceptance, &Acceptance::centre_max_mm, "trigger.acceptance.centre_max_mm");
    expect_bounded(&RingFinderConfig::acceptance, &Acceptance::radius_min_mm, "trigger.acceptance.radius_min_mm");
    expect_bounded(&RingFinderConfig::acceptance, &Acceptance::radius_max_mm, "trigger.acceptance.radius_max_mm");
}

TEST(RingFinder, automatic_takes_an_available_isa) {
    const RingFinder finder{RingFinderConfig{}};
    EXPECT_NE(finder.isa(), Isa::automatic);
    EXPECT_TRUE(is_available(finder.isa()));
}

TEST(RingFinder, empty_batch_is_no_work) {
    const std::uint32_t offset = 0;
    RingFinder(RingFinderConfig{}).find({0, &offset, nullptr, nullptr}, nullptr);
}

TEST(RingFinder, flags_say_what_was_not_ordinary) {
    Batch batch;
    batch.circle(10, -20, 150, 70).end();
    batch.circle(10, -20, 150, 20).hit(nan, 0).hit(0, inf).hit(3e38, -3e38).end();
    batch.circle(10, -20, 150, 20).end();
    const auto out = find(batch);
    EXPECT_EQ(out[0].flags, hits_truncated);
    EXPECT_EQ(out[1].flags, hits_rejected);
    EXPECT_EQ(out[2].flags, 0);
    for (const auto& event : out) {
        ASSERT_EQ(event.n_rings, 1);
        EXPECT_NEAR(event.ring[0].x_mm, 10, 0.5);
        EXPECT_NEAR(event.ring[0].y_mm, -20, 0.5);
        EXPECT_NEAR(event.ring[0].radius_mm, 150, 0.5);
    }
    RingCounts counts;
    counts.add(out);
    EXPECT_EQ(counts.events, 3u);
    EXPECT_EQ(counts.rings, 3u);
    EXPECT_EQ(counts.events_truncated, 1u);
    EXPECT_EQ(counts.events_with_rejected_hits, 1u);
}

TEST(RingFinder, decreasing_offsets_are_an_event_without_hits) {
    const std::uint32_t offset[] = {0, 20, 5, 20};
    Batch batch;
    batch.circle(0, 0, 150, 20).end();
    EventRings out[3];
    RingFinder(RingFinderConfig{}).find({3, offset, batch.x.data(), batch.y.data()}, out);
    EXPECT_EQ(out[0].n_rings, 1);
    EXPECT_EQ(out[1].n_rings, 0);
    EXPECT_EQ(out[1].flags, bad_offsets);
    EXPECT_EQ(out[2].n_rings, 1);
}

TEST(RingFinder, acceptance_is_configuration) {
    Batch batch;
    batch.circle(300, 0, 150, 20).end();
    EXPECT_EQ(find(batch)[0].n_rings, 1);
    RingFinderConfig config;
    config.acceptance.centre_max_mm = 200;
    EXPECT_EQ(find(batch, config)[0].n_rings, 0);
    config.acceptance.centre_x_mm = 250;
    const auto shifted = find(batch, config);
    ASSERT_EQ(shifted[0].n_rings, 1);
    EXPECT_NEAR(shifted[0].ring[0].x_mm, 300, 0.5);
}

TEST(RingFinder, two_rings_with_hits_attributed) {
    Batch batch;
    batch.circle(-40, 10, 180, 18).circle(30, -20, 120, 14).end();
    const auto out = find(batch);
    ASSERT_EQ(out[0].n_rings, 2);
    EXPECT_NEAR(out[0].ring[0].n_hits + out[0].ring[1].n_hits, 32, 2);
}

/// Every algorithm on every instruction set of this processor.
class EveryFinder : public testing::TestWithParam<std::tuple<Algorithm, Isa>> {
  protected:
    void SetUp() override {
        if (!is_available(std::get<1>(GetParam())))
            GTEST_SKIP() << "this processor has no " << name_of(std::get<1>(GetParam()));
    }
    std::vector<EventRings> found(const Batch& batch) const {
        RingFinderConfig config;
        config.algorithm = std::get<0>(GetParam());
        config.isa = std::get<1>(GetParam());
        return find(batch, config);
    }
};

void expect_sane(const std::vector<EventRings>& events) {
    for (const auto& event : events) {
        ASSERT_LE(event.n_rings, max_rings_per_event);
        for (int k = 0; k < event.n_rings; ++k) {
            EXPECT_TRUE(std::isfinite(event.ring[k].x_mm) && std::isfinite(event.ring[k].y_mm));
            EXPECT_GE(event.ring[k].radius_mm, 88);
            EXPECT_LE(event.ring[k].radius_mm, 208);
            EXPECT_LE(event.ring[k].n_hits, max_hits_per_event);
        }
    }
}

TEST_P(EveryFinder, finds_a_clean_ring_for_any_number_of_hits) {
    // The histograms need the hits of two bins to pass the threshold, and have no refinement.
    const auto algorithm = std::get<0>(GetParam());
    const bool coarse = algorithm == Algorithm::histogram8x8 || algorithm == Algorithm::histogram;
    const int first = coarse ? 24 : 6;
    const double tolerance_mm = coarse ? 15 : 2;
    Batch batch;
    for (int n = first; n <= 80; ++n) batch.circle(20, -30, 160, n).end();
    const auto out = found(batch);
    expect_sane(out);
    for (std::size_t k = 0; k < out.size(); ++k) {
        const std::size_t used = std::min<std::size_t>(k + static_cast<std::size_t>(first), 64);
        ASSERT_GE(out[k].n_rings, 1) << used << " hits";
        EXPECT_NEAR(out[k].ring[0].x_mm, 20, tolerance_mm) << used << " hits";
        EXPECT_NEAR(out[k].ring[0].y_mm, -30, tolerance_mm) << used << " hits";
        EXPECT_NEAR(out[k].ring[0].radius_mm, 160, tolerance_mm) << used << " hits";
    }
}

TEST_P(EveryFinder, few_hits_are_no_ring_and_no_trouble) {
    Batch batch;
    for (int n = 0; n <= 3; ++n) batch.circle(0, 0, 150, n).end();
    const auto out = found(batch);
    for (const auto& event : out) EXPECT_EQ(event.n_rings, 0);
}

TEST_P(EveryFinder, degenerate_hits_give_no_ring) {
    Batch batch;
    for (int n : {1, 5, 20, 64, 100}) {
        for (int k = 0; k < n; ++k) batch.hit(12, 34);
        batch.end();
        for (int k = 0; k < n; ++k) batch.hit(3.0 * k, 5.0 * k);
        batch.end();
        for (int k = 0; k < n; ++k) batch.hit(nan, inf);
        batch.end();
        for (int k = 0; k < n; ++k) batch.hit(1e38, k % 2 != 0 ? 1e38 : -1e38);
        batch.end();
        for (int k = 0; k < n; ++k) batch.hit(k % 2 != 0 ? 100 : -100, 0);
        batch.end();
    }
    const auto out = found(batch);
    expect_sane(out);
    for (std::size_t e = 0; e < out.size(); ++e) EXPECT_EQ(out[e].n_rings, 0) << "event " << e;
}

TEST_P(EveryFinder, an_event_does_not_depend_on_its_neighbours) {
    Batch together;
    std::vector<Batch> alone;
    for (int k = 0; k < 37; ++k) {
        Batch one;
        for (Batch* batch : {&together, &one}) {
            batch->circle(3 * k - 50, 40 - 2 * k, 110 + 2 * k, 5 + k % 20);
            if (k % 3 == 0) batch->circle(-20, k, 190 - k, 12);
            batch->end();
        }
        alone.push_back(one);
    }
    const auto out = found(together);
    for (std::size_t e = 0; e < alone.size(); ++e) {
        const auto one = found(alone[e]);
        ASSERT_EQ(one[0].n_rings, out[e].n_rings) << "event " << e;
        for (int k = 0; k < one[0].n_rings; ++k) {
            EXPECT_EQ(one[0].ring[k].x_mm, out[e].ring[k].x_mm) << "event " << e;
            EXPECT_EQ(one[0].ring[k].radius_mm, out[e].ring[k].radius_mm) << "event " << e;
            EXPECT_EQ(one[0].ring[k].n_hits, out[e].ring[k].n_hits) << "event " << e;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryFinder,
                         testing::Combine(testing::Values(Algorithm::crawford, Algorithm::taubin,
                                                          Algorithm::histogram8x8, Algorithm::histogram,
                                                          Algorithm::almagest, Algorithm::single, Algorithm::multiring),
                                          testing::Values(Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512)),
                         [](const auto& test) {
                             return std::string(name_of(std::get<0>(test.param))) + "_" +
                                    std::string(name_of(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace anello::rich::ring_finder_test

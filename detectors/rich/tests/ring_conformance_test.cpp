// SPDX-License-Identifier: Apache-2.0
#include "rich/tests/ring_conformance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "rich/rings/ring_finder_cuda.hpp"
#include "rich/tests/cuda_parts.hpp"
#include "rich/tests/rings/score.hpp"

namespace anello::rich::ring_conformance_test {
namespace {

using anello::Isa;
using conformance::run;
using conformance::sample_of;
using conformance::share_equal;

constexpr double everything_mm = 1e9;

/// An instruction set of the processor, or a CUDA device.
struct Place {
    std::string name;
    std::string unavailable_reason;
    conformance::Backend backend;
};

void PrintTo(const Place& place, std::ostream* out) {
    *out << place.name;
}

Place processor(Isa isa) {
    const std::string name(name_of(isa));
    return {name, is_available(isa) ? "" : "this processor has no " + name,
            [isa](RingFinderConfig config, const HitsView& hits, EventRings* rings) {
                config.isa = isa;
                RingFinder(config).find(hits, rings);
            }};
}

Place cuda_device() {
    return {"cuda", CudaRingFinder::unavailable_reason(),
            [](const RingFinderConfig& config, const HitsView& hits, EventRings* rings) {
                CudaRingFinder finder(config, 256, 256 * max_hits_per_event);  // samples need several pieces
                ASSERT_TRUE(finder.find(hits, rings));
            }};
}

class RingConformance : public testing::TestWithParam<Place> {
  protected:
    void SetUp() override {
        if (!GetParam().unavailable_reason.empty()) GTEST_SKIP() << GetParam().unavailable_reason;
    }
    conformance::Backend backend() const { return GetParam().backend; }
};

TEST_P(RingConformance, crawford_is_the_least_squares_solution) {
    const auto share = share_equal(
        backend(), Algorithm::crawford, sample_of(1, 7001, 1000), 0.05,
        [](const auto& hits) { return conformance::if_ring(reference::crawford(hits), hits, everything_mm); });
    EXPECT_GE(share, 0.995);
}

TEST_P(RingConformance, taubin_minimises_its_objective) {
    const auto sample = sample_of(1, 7002, 1000);
    const auto out = run(backend(), Algorithm::taubin, sample);
    int n_rings = 0;
    for (std::size_t e = 0; e < out.size(); ++e) {
        if (out[e].n_rings == 0) continue;
        ++n_rings;
        const Ring& ring = out[e].ring[0];
        const reference::Circle best{ring.x_mm, ring.y_mm, ring.radius_mm};
        const auto hits = conformance::hits_of(sample, e);
        const double least = reference::taubin_objective(hits, best);
        for (const double step : {-0.5, 0.5}) {
            EXPECT_LT(least, reference::taubin_objective(hits, {best.x + step, best.y, best.r})) << "event " << e;
            EXPECT_LT(least, reference::taubin_objective(hits, {best.x, best.y + step, best.r})) << "event " << e;
            EXPECT_LT(least, reference::taubin_objective(hits, {best.x, best.y, best.r + step})) << "event " << e;
        }
    }
    EXPECT_GT(n_rings, 700);
}

TEST_P(RingConformance, single_follows_the_schedule) {
    const RingFinderConfig config;
    const auto share = share_equal(backend(), Algorithm::single, sample_of(1, 7003, 1000), 0.1, [&](const auto& hits) {
        return conformance::if_ring(reference::single(hits, config.single, config.acceptance), hits,
                                    config.single.count_window_mm);
    });
    EXPECT_GE(share, 0.97);
}

TEST_P(RingConformance, histograms_find_the_same_rings) {
    const RingFinderConfig config;
    for (const bool refined : {false, true}) {
        const auto algorithm = refined ? Algorithm::histogram : Algorithm::histogram8x8;
        const auto share = share_equal(backend(), algorithm, sample_of(2, 7004, 200), 0.1, [&](const auto& hits) {
            return reference::histogram(hits, config.histogram, config.acceptance, refined);
        });
        EXPECT_GE(share, 0.97) << name_of(algorithm);
    }
}

TEST_P(RingConformance, almagest_finds_the_same_rings) {
    const RingFinderConfig config;
    const auto share = share_equal(backend(), Algorithm::almagest, sample_of(2, 7005, 500), 0.1, [&](const auto& hits) {
        return reference::almagest(hits, config.almagest, config.acceptance);
    });
    EXPECT_GE(share, 0.97);
}

rings::Score score(const std::vector<EventRings>& out, const rings::Sample& sample) {
    rings::Score sum;
    for (std::size_t e = 0; e < out.size(); ++e) {
        std::vector<rings::FoundRing> found;
        for (int k = 0; k < out[e].n_rings; ++k)
            found.push_back({out[e].ring[k].x_mm, out[e].ring[k].y_mm, out[e].ring[k].radius_mm});
        const std::size_t first = sample.ring_offset[e], n = sample.ring_offset[e + 1] - first;
        sum.add({sample.ring.data() + first, n}, found);
    }
    return sum;
}

/// Lower limits of the published quality, with a margin for the statistics of 1500 events.
TEST_P(RingConformance, multiring_has_its_quality) {
    struct Floor {
        int n_rings;
        double eff5, ghost;
    };
    for (const Floor floor : {Floor{1, 94, 0.5}, Floor{2, 90, 0.7}, Floor{3, 86, 1.4}, Floor{4, 78, 3}}) {
        const auto sample = sample_of(floor.n_rings, 7006, 1500);
        const auto sum = score(run(backend(), Algorithm::multiring, sample), sample);
        EXPECT_GT(rings::share(sum.within_5, sum.n_true).per_cent, floor.eff5) << floor.n_rings << " rings";
        EXPECT_LT(rings::share(sum.n_ghosts, sum.n_found).per_cent, floor.ghost) << floor.n_rings << " rings";
    }
}

/// For events with one ring, which is fitted alone, and with three; without and with a prior of the radii.
TEST_P(RingConformance, multiring_agrees_with_the_scalar_build) {
    for (const int n_rings : {1, 3})
        for (const float radius_sd_mm : {0.0f, 20.0f}) {
            RingFinderConfig config;
            config.multiring.radius_sd_mm = radius_sd_mm;
            EXPECT_GT(conformance::share_as_scalar(backend(), config, sample_of(n_rings, 7008, 600)), 0.95)
                << n_rings << " rings, expected within " << radius_sd_mm << " mm";
        }
}

TEST(CudaParts, ABatchOfManyPartsGivesTheRingsThatSmallBatchesGive) {
    if (const auto reason = CudaRingFinder::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    conformance::expect_parts_agree({}, 40'001);  // five parts, the last of an odd size
}

INSTANTIATE_TEST_SUITE_P(EveryPlace, RingConformance,
                         testing::Values(processor(Isa::scalar), processor(Isa::sse42), processor(Isa::avx2),
                                         processor(Isa::avx512), cuda_device()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace anello::rich::ring_conformance_test

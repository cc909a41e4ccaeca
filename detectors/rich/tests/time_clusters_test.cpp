// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/time_clusters.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "core/errors.hpp"

namespace anello::rich {
namespace {

struct Clusters {
    std::vector<TimeCluster> cluster;
    std::vector<std::uint32_t> of_hit;
};

Clusters clusters_of(const std::vector<float>& time_ns, const TimeClusterConfig& config = {}) {
    TimeClusterer clusterer(config);
    Clusters result{.cluster = {}, .of_hit = std::vector<std::uint32_t>(time_ns.size())};
    const auto found = clusterer.cluster(time_ns, result.of_hit);
    result.cluster.assign(found.begin(), found.end());
    return result;
}

TEST(TimeClusters, NoHitsNoClusters) {
    EXPECT_TRUE(clusters_of({}).cluster.empty());
}

TEST(TimeClusters, GroupsFarApartAreToldApart) {
    const Clusters found = clusters_of({14.4f, 0.1f, 60.0f, -0.3f, 14.6f, 0.2f});
    EXPECT_EQ(found.of_hit, (std::vector<std::uint32_t>{1, 0, 2, 0, 1, 0}));
    ASSERT_EQ(found.cluster.size(), 3U);
    EXPECT_NEAR(found.cluster[0].time_ns, 0, 1e-6);
    EXPECT_NEAR(found.cluster[1].time_ns, 14.5, 1e-6);
    EXPECT_EQ(found.cluster[0].n_hits, 3U);
    EXPECT_EQ(found.cluster[2].n_hits, 1U);
}

// The first window begins at the early hit and ends in the middle of the group.
TEST(TimeClusters, AnEarlyHitDoesNotTearAGroupApart) {
    const std::vector<float> time_ns{-9.5f, -0.8f, -0.2f, 0.1f, 0.6f, 0.9f};
    const Clusters found = clusters_of(time_ns);
    EXPECT_EQ(found.of_hit, (std::vector<std::uint32_t>{0, 1, 1, 1, 1, 1}));
    EXPECT_NE(clusters_of(time_ns, {.half_window_ns = 5, .n_passes = 0}).of_hit, found.of_hit) << "the passes do it";
}

// The windows from the first hit on split the group; then the means, half a window apart, are joined.
TEST(TimeClusters, NeighboursInTimeAreJoinedAtTheirCommonMean) {
    const Clusters found =
        clusters_of({100.0f, 109.0f, 109.9f, 110.2f, 110.3f, 110.4f, 110.5f}, {.half_window_ns = 5, .n_passes = 1});
    EXPECT_EQ(found.of_hit, (std::vector<std::uint32_t>{0, 1, 1, 1, 1, 1, 1}));
    EXPECT_NEAR(found.cluster[1].time_ns, 660.3 / 6, 1e-3);
}

TEST(TimeClusters, WrongParametersAreNamed) {
    EXPECT_THROW(TimeClusterer({.half_window_ns = 0}), ConfigError);
    EXPECT_THROW(TimeClusterer({.half_window_ns = std::nanf("")}), ConfigError);
    EXPECT_THROW(TimeClusterer({.n_passes = 101}), ConfigError);
}

RC_GTEST_PROP(TimeClustersProperty, EveryHitIsInOneClusterWhateverTheOrder, (const std::vector<std::int16_t>& fine)) {
    std::vector<float> time_ns(fine.begin(), fine.end());
    for (float& time : time_ns) time *= 0.097f;
    const Clusters found = clusters_of(time_ns);
    std::vector<std::uint32_t> n_hits(found.cluster.size());
    for (std::size_t i = 0; i < time_ns.size(); ++i) {
        RC_ASSERT(found.of_hit[i] < found.cluster.size());
        ++n_hits[found.of_hit[i]];
        RC_ASSERT(std::abs(time_ns[i] - found.cluster[found.of_hit[i]].time_ns) <= 10.01f);
    }
    for (std::size_t c = 0; c < found.cluster.size(); ++c) {
        RC_ASSERT(n_hits[c] > 0);
        RC_ASSERT(n_hits[c] == found.cluster[c].n_hits);
        if (c > 0) RC_ASSERT(found.cluster[c].time_ns >= found.cluster[c - 1].time_ns);
    }
    const std::vector<float> backwards(time_ns.rbegin(), time_ns.rend());
    const Clusters again = clusters_of(backwards);
    RC_ASSERT(std::vector<std::uint32_t>(again.of_hit.rbegin(), again.of_hit.rend()) == found.of_hit);
}

}  // namespace
}  // namespace anello::rich

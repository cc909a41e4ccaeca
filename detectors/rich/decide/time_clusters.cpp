// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/time_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/errors.hpp"

namespace anello::rich {
namespace {

constexpr std::uint32_t no_cluster = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void TimeClusterConfig::validate() const {
    if (!(half_window_ns > 0) || half_window_ns > 1e6f)
        throw ConfigError("half_window_ns", "must be above 0 and at most 1e6 ns", std::to_string(half_window_ns),
                          "NA62 uses 5.");
    if (n_passes > 100) throw ConfigError("n_passes", "must be 0 to 100", std::to_string(n_passes), "NA62 uses 2.");
}

TimeClusterer::TimeClusterer(const TimeClusterConfig& config) : config_((config.validate(), config)) {}

std::span<const TimeCluster> TimeClusterer::cluster(std::span<const float> hit_time_ns,
                                                    std::span<std::uint32_t> cluster_of_hit) {
    hits_.clear();
    clusters_.clear();
    for (std::uint32_t i = 0; i < hit_time_ns.size(); ++i) hits_.push_back({hit_time_ns[i], i, no_cluster});
    std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) { return a.time_ns < b.time_ns; });
    cut_rest_into_windows();
    for (std::uint32_t pass = 0; pass < config_.n_passes; ++pass) {
        join_near_clusters();
        give_hits_to_nearest();
        cut_rest_into_windows();
    }
    for (const Hit& hit : hits_) cluster_of_hit[hit.index] = hit.cluster;
    return clusters_;
}

/// Joins neighbours in time, each with the mean of the clusters joined before it. Hits are assigned again after it.
void TimeClusterer::join_near_clusters() {
    std::size_t n = 0;
    for (const TimeCluster& cluster : clusters_) {
        if (n == 0 || cluster.time_ns - clusters_[n - 1].time_ns >= config_.half_window_ns) {
            clusters_[n++] = cluster;
            continue;
        }
        TimeCluster& last = clusters_[n - 1];
        const auto weight = static_cast<float>(cluster.n_hits) / static_cast<float>(last.n_hits + cluster.n_hits);
        last.time_ns += (cluster.time_ns - last.time_ns) * weight;
        last.n_hits += cluster.n_hits;
    }
    clusters_.resize(n);
}

/// Hits and clusters are both sorted by time, so that one pass finds the nearest cluster of each hit.
void TimeClusterer::give_hits_to_nearest() {
    std::uint32_t nearest = 0;
    for (Hit& hit : hits_) {
        const auto miss_ns = [&](std::uint32_t c) { return std::abs(hit.time_ns - clusters_[c].time_ns); };
        while (nearest + 1 < clusters_.size() && miss_ns(nearest + 1) < miss_ns(nearest)) ++nearest;
        hit.cluster = miss_ns(nearest) <= config_.half_window_ns ? nearest : no_cluster;
    }
}

void TimeClusterer::cut_rest_into_windows() {
    float end_ns = -std::numeric_limits<float>::infinity();
    for (Hit& hit : hits_) {
        if (hit.cluster != no_cluster) continue;
        if (hit.time_ns >= end_ns) {
            end_ns = hit.time_ns + 2 * config_.half_window_ns;
            clusters_.push_back({});
        }
        hit.cluster = static_cast<std::uint32_t>(clusters_.size() - 1);
    }
    find_means();
    sort_by_time();
}

void TimeClusterer::find_means() {
    sum_ns_.assign(clusters_.size(), 0);
    for (TimeCluster& cluster : clusters_) cluster.n_hits = 0;
    for (const Hit& hit : hits_) {
        sum_ns_[hit.cluster] += double{hit.time_ns};
        ++clusters_[hit.cluster].n_hits;
    }
    for (std::size_t c = 0; c < clusters_.size(); ++c)
        if (clusters_[c].n_hits > 0) clusters_[c].time_ns = static_cast<float>(sum_ns_[c] / clusters_[c].n_hits);
}

/// Numbers clusters in order of time and drops those without hits.
void TimeClusterer::sort_by_time() {
    order_.clear();
    for (std::uint32_t c = 0; c < clusters_.size(); ++c)
        if (clusters_[c].n_hits > 0) order_.push_back(c);
    std::sort(order_.begin(), order_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return clusters_[a].time_ns < clusters_[b].time_ns; });
    number_.resize(clusters_.size());
    sorted_.clear();
    for (const std::uint32_t c : order_) {
        number_[c] = static_cast<std::uint32_t>(sorted_.size());
        sorted_.push_back(clusters_[c]);
    }
    clusters_.swap(sorted_);
    for (Hit& hit : hits_) hit.cluster = number_[hit.cluster];
}

}  // namespace anello::rich

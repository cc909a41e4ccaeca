// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Hits of one event that belong together in time: the particle in time, other particles, lone hits.
namespace anello::rich {

/// NA62's offline values: clusters of 10 ns.
struct TimeClusterConfig {
    float half_window_ns = 5;  ///< a hit belongs to a cluster when it is at most this far from the cluster's mean time
    std::uint32_t n_passes = 2;
    void validate() const;  ///< Throws ConfigError.
};

struct TimeCluster {
    float time_ns;  ///< mean of its hits
    std::uint32_t n_hits;
};

/// Reused from event to event, so that nothing is allocated once it has grown.
class TimeClusterer {
  public:
    explicit TimeClusterer(const TimeClusterConfig& config);  ///< Throws ConfigError.

    /// The event's clusters in the order of time; every hit is in one. hit_time_ns: finite. cluster_of_hit: of the same
    /// length, an index into what is returned. The result does not depend on the order of the hits.
    ///
    /// First, hits in order of time are cut into windows of twice the half window, each from its first hit on. Then, in
    /// each pass, clusters whose means are closer than the half window are joined, every hit goes to the nearest mean,
    /// and hits too far from all are cut into windows of their own: so a cluster cut in two by an early hit heals.
    /// Time n log n.
    std::span<const TimeCluster> cluster(std::span<const float> hit_time_ns, std::span<std::uint32_t> cluster_of_hit);

  private:
    struct Hit {
        float time_ns;
        std::uint32_t index;
        std::uint32_t cluster;  ///< no_cluster: in none yet
    };
    void join_near_clusters();
    void give_hits_to_nearest();
    void cut_rest_into_windows();
    void find_means();
    void sort_by_time();

    TimeClusterConfig config_;
    std::vector<Hit> hits_;  ///< by time
    std::vector<TimeCluster> clusters_, sorted_;
    std::vector<double> sum_ns_;
    std::vector<std::uint32_t> order_, number_;
};

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Groups hits of one event that belong together in time: the particle in time, other particles, single hits.
namespace anello::rich {

/// The defaults are NA62's offline values: clusters of 10 ns.
struct TimeClusterConfig {
    float half_window_ns = 5;  ///< a hit belongs to a cluster when it is at most this far from the cluster's mean time
    std::uint32_t n_passes = 2;
    void validate() const;  ///< Throws ConfigError.
};

struct TimeCluster {
    float time_ns;  ///< mean time of its hits
    std::uint32_t n_hits;
};

/// One object serves many events, so that it does not allocate after it has grown.
class TimeClusterer {
  public:
    explicit TimeClusterer(const TimeClusterConfig& config);  ///< Throws ConfigError.

    /// Returns the event's clusters in order of time; every hit is in one. hit_time_ns: finite. cluster_of_hit: of the
    /// same length, indices of the returned clusters. The result does not depend on the order of the hits.
    ///
    /// First, hits sorted by time are cut into windows of twice the half window, each from its first hit on. Then each
    /// pass joins clusters whose means are closer than the half window, gives every hit to the nearest mean, and cuts
    /// hits too far from all means into new windows. This repairs a cluster that an early hit cut in two.
    /// Takes time n log n.
    std::span<const TimeCluster> cluster(std::span<const float> hit_time_ns, std::span<std::uint32_t> cluster_of_hit);

  private:
    struct Hit {
        float time_ns;
        std::uint32_t index;
        std::uint32_t cluster;  ///< no_cluster: not in a cluster yet
    };
    void join_near_clusters();
    void give_hits_to_nearest();
    void cut_rest_into_windows();
    void find_means();
    void sort_by_time();

    TimeClusterConfig config_;
    std::vector<Hit> hits_;  ///< sorted by time
    std::vector<TimeCluster> clusters_, sorted_;
    std::vector<double> sum_ns_;
    std::vector<std::uint32_t> order_, number_;
};

}  // namespace anello::rich

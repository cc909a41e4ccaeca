// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/time_clusters.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "rich/bindings/parts.hpp"

namespace anello::rich {
namespace {

namespace nb = nanobind;

using ClusterArrays = std::tuple<nb::object, nb::object, nb::object, nb::object>;

/// anello.rich.analysis.clusters has checked the arrays.
ClusterArrays time_clusters(const bindings::Input<float>& hit_time_ns,
                            const bindings::Input<std::uint32_t>& event_offset, float half_window_ns,
                            std::uint32_t n_passes) {
    TimeClusterer clusterer({.half_window_ns = half_window_ns, .n_passes = n_passes});
    std::vector<std::uint32_t> hit_cluster(hit_time_ns.shape(0)), cluster_offset{0}, n_hits;
    std::vector<float> time_ns;
    {
        nb::gil_scoped_release release;
        for (std::size_t event = 0; event + 1 < event_offset.shape(0); ++event) {
            const std::uint32_t first = event_offset.data()[event], n = event_offset.data()[event + 1] - first;
            const std::span<std::uint32_t> of_hit(hit_cluster.data() + first, n);
            for (const auto& cluster : clusterer.cluster({hit_time_ns.data() + first, n}, of_hit)) {
                time_ns.push_back(cluster.time_ns);
                n_hits.push_back(cluster.n_hits);
            }
            for (std::uint32_t& cluster : of_hit) cluster += cluster_offset.back();
            cluster_offset.push_back(static_cast<std::uint32_t>(time_ns.size()));
        }
    }
    return {bindings::to_numpy(std::move(hit_cluster)), bindings::to_numpy(std::move(time_ns)),
            bindings::to_numpy(std::move(n_hits)), bindings::to_numpy(std::move(cluster_offset))};
}

}  // namespace

void bind_time_clusters(nb::module_& module) {
    module.def("time_clusters", &time_clusters, nb::arg("hit_time_ns"), nb::arg("event_offset"),
               nb::arg("half_window_ns"), nb::arg("n_passes"));
}

}  // namespace anello::rich

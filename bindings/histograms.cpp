// SPDX-License-Identifier: Apache-2.0
#include "histograms.hpp"

#include <cmath>
#include <vector>

#include "arrays.hpp"

namespace anello::bindings {

nb::dict latency_of(const LatencyHistogram& histogram) {
    nb::dict result;
    result["count"] = histogram.count();
    result["mean_ns"] = histogram.mean_ns();
    result["p50_ns"] = histogram.quantile_ns(0.5);
    result["p90_ns"] = histogram.quantile_ns(0.9);
    result["p99_ns"] = histogram.quantile_ns(0.99);
    result["p999_ns"] = histogram.quantile_ns(0.999);
    result["p9999_ns"] = histogram.quantile_ns(0.9999);
    result["max_ns"] = histogram.max_ns();
    result["above_1ms"] = histogram.count_above(1'000'000);
    std::vector<double> edges;
    std::vector<std::uint64_t> counts;
    for (std::size_t bin = 0; bin < LatencyHistogram::n_bins; ++bin) {
        edges.push_back(static_cast<double>(LatencyHistogram::bin_lower_edge_ns(bin)));
        counts.push_back(histogram.bin_count(bin));
    }
    edges.push_back(std::ldexp(1.0, LatencyHistogram::max_bits));
    result["bins_ns"] = to_numpy(std::move(edges));
    result["bin_counts"] = to_numpy(std::move(counts));
    return result;
}

nb::dict latency_of(const std::map<std::string, const LatencyHistogram*>& legs) {
    nb::dict result;
    for (const auto& [name, histogram] : legs) result[name.c_str()] = latency_of(*histogram);
    return result;
}

}  // namespace anello::bindings

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

nb::dict over_time(const LatencySeries& series) {
    std::vector<std::uint64_t> count, sum_ns, max_ns, n_late;
    for (std::size_t i = 0, n = series.n_used(); i < n; ++i) {
        const LatencySeries::Bin bin = series.bin(i);
        count.push_back(bin.count);
        sum_ns.push_back(bin.sum_ns);
        max_ns.push_back(bin.max_ns);
        n_late.push_back(bin.n_late);
    }
    nb::dict result;
    result["begin_ns"] = series.begin_ns();
    result["bin_ns"] = series.bin_ns();
    result["count"] = to_numpy(std::move(count));
    result["sum_ns"] = to_numpy(std::move(sum_ns));
    result["max_ns"] = to_numpy(std::move(max_ns));
    result["n_late"] = to_numpy(std::move(n_late));
    return result;
}

nb::dict over_time(const pipeline::LatenciesOverTime& legs) {
    nb::dict result;
    for (const auto& [name, series] : legs) result[name.c_str()] = over_time(*series);
    return result;
}

nb::dict hiccups_of(const pipeline::MachineProbe& probe) {
    nb::dict by_core;
    for (const auto& one : probe.cores()) {
        nb::dict core;
        core["delays"] = latency_of(one.probe.delays());
        core["over_time"] = over_time(one.probe.series());
        core["is_on_the_way"] = one.is_on_the_way;
        core["is_realtime"] = one.probe.is_realtime();
        by_core[nb::int_(one.core)] = core;
    }
    return by_core;
}

}  // namespace anello::bindings

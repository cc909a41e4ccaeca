// SPDX-License-Identifier: Apache-2.0
#include "core/latency/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace anello {

double LatencyHistogram::mean_ns() const noexcept {
    const auto n = count();
    return n == 0 ? 0.0 : static_cast<double>(sum_.load(std::memory_order_relaxed)) / static_cast<double>(n);
}

std::uint64_t LatencyHistogram::bin_lower_edge_ns(std::size_t bin) noexcept {
    if (bin < (1U << step_bits)) return bin;
    const std::size_t shift = (bin >> step_bits) - 1;
    return ((bin & ((1U << step_bits) - 1)) + (1U << step_bits)) << shift;
}

std::uint64_t LatencyHistogram::quantile_ns(double share) const noexcept {
    const auto total = count();
    if (total == 0) return 0;
    const auto wanted = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(total))));
    std::uint64_t seen = 0;
    for (std::size_t bin = 0; bin < n_bins; ++bin) {
        seen += bin_count(bin);
        if (seen >= wanted) return std::min(bin + 1 < n_bins ? bin_lower_edge_ns(bin + 1) : max_ns(), max_ns());
    }
    return max_ns();
}

std::uint64_t LatencyHistogram::count_above(std::uint64_t limit_ns) const noexcept {
    std::uint64_t above = 0;
    for (std::size_t bin = bin_of(limit_ns) + 1; bin < n_bins; ++bin) above += bin_count(bin);
    return above;
}

void LatencyHistogram::add_to_bin(std::size_t bin, std::uint64_t times, std::uint64_t limit_ns) noexcept {
    const std::uint64_t lower_ns = bin_lower_edge_ns(bin);
    const std::uint64_t upper_ns = bin + 1 < n_bins ? bin_lower_edge_ns(bin + 1) : limit_ns;
    bump(bins_[bin], times);
    bump(count_, times);
    bump(sum_, (lower_ns + upper_ns) / 2 * times);
    const std::uint64_t max_ns = std::min(upper_ns, limit_ns);
    if (max_ns > this->max_ns()) max_.store(max_ns, std::memory_order_relaxed);
}

void LatencyHistogram::merge(const LatencyHistogram& other) noexcept {
    for (std::size_t bin = 0; bin < n_bins; ++bin) bump(bins_[bin], other.bin_count(bin));
    bump(count_, other.count());
    bump(sum_, other.sum_.load(std::memory_order_relaxed));
    if (other.max_ns() > max_ns()) max_.store(other.max_ns(), std::memory_order_relaxed);
}

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#include "core/latency/latency_series.hpp"

#include <algorithm>

namespace anello {
namespace {

Nanoseconds whole_multiple(Nanoseconds time_ns, Nanoseconds of_ns) noexcept {
    return time_ns - (time_ns % of_ns + of_ns) % of_ns;
}

}  // namespace

LatencySeries::Bin LatencySeries::bin(std::size_t index) const noexcept {
    const Cell& cell = bins_[index];
    return {cell.count.load(std::memory_order_relaxed), cell.sum_ns.load(std::memory_order_relaxed),
            cell.max_ns.load(std::memory_order_relaxed), cell.n_late.load(std::memory_order_relaxed)};
}

std::size_t LatencySeries::n_used() const noexcept {
    std::size_t n = n_bins;
    while (n > 0 && bins_[n - 1].count.load(std::memory_order_relaxed) == 0) --n;
    return n;
}

void LatencySeries::set(std::size_t index, const Bin& bin) noexcept {
    bins_[index].count.store(bin.count, std::memory_order_relaxed);
    bins_[index].sum_ns.store(bin.sum_ns, std::memory_order_relaxed);
    bins_[index].max_ns.store(bin.max_ns, std::memory_order_relaxed);
    bins_[index].n_late.store(bin.n_late, std::memory_order_relaxed);
}

void LatencySeries::move_to(Nanoseconds at_ns) noexcept {
    if (!has_begun_) begin_ns_.store(whole_multiple(at_ns, bin_ns()), std::memory_order_relaxed);
    has_begun_ = true;
    while ((at_ns - begin_ns()) / bin_ns() >= static_cast<Nanoseconds>(n_bins)) double_length();
    const Nanoseconds index = std::max<Nanoseconds>(at_ns - begin_ns(), 0) / bin_ns();
    bin_ = &bins_[static_cast<std::size_t>(index)];
    bin_begin_ns_ = begin_ns() + index * bin_ns();
    bin_end_ns_ = bin_begin_ns_ + bin_ns();
}

/// Bin 0 stays alone if it would be the second half of a bin of twice the length.
void LatencySeries::double_length() noexcept {
    const Nanoseconds begin_ns = whole_multiple(this->begin_ns(), 2 * bin_ns());
    const std::size_t alone = begin_ns == this->begin_ns() ? 0 : 1;
    for (std::size_t to = 0; to < n_bins; ++to) {
        Bin merged{};
        for (std::size_t half = 0; half < 2; ++half) {
            const std::size_t from = 2 * to + half - alone;  // wraps round if there is no bin before bin 0
            if (from >= n_bins) continue;
            const Bin one = bin(from);
            merged = {merged.count + one.count, merged.sum_ns + one.sum_ns, std::max(merged.max_ns, one.max_ns),
                      merged.n_late + one.n_late};
        }
        set(to, merged);
    }
    begin_ns_.store(begin_ns, std::memory_order_relaxed);
    length_ns_.store(2 * bin_ns(), std::memory_order_relaxed);
}

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace anello {

/// A latency histogram of fixed size: 32 linear steps per power of two (3 % resolution) from 0 to 2^40 ns (18 minutes).
/// One writing thread, any number of readers; nothing is allocated after construction.
class LatencyHistogram {
  public:
    static constexpr unsigned step_bits = 5;
    static constexpr unsigned max_bits = 40;
    static constexpr std::size_t n_bins = (max_bits - step_bits + 1) << step_bits;

    // Hot path: no allocation, no lock, no log, no throw. Negative values (from clocks that disagree) count as 0.
    void record(std::int64_t value_ns, std::uint64_t times = 1) noexcept {
        const auto value = value_ns < 0 ? 0U : static_cast<std::uint64_t>(value_ns);
        bump(bins_[bin_of(value)], times);
        bump(count_, times);
        bump(sum_, value * times);
        if (value > max_.load(std::memory_order_relaxed)) max_.store(value, std::memory_order_relaxed);
    }

    std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    std::uint64_t max_ns() const noexcept { return max_.load(std::memory_order_relaxed); }
    double mean_ns() const noexcept;
    /// The upper edge of the bin that contains this quantile (0..1), at most max_ns(); 0 if the histogram is empty.
    std::uint64_t quantile_ns(double share) const noexcept;
    std::uint64_t bin_count(std::size_t bin) const noexcept { return bins_[bin].load(std::memory_order_relaxed); }
    static std::uint64_t bin_lower_edge_ns(std::size_t bin) noexcept;
    /// Number of values above limit_ns, with the resolution of a bin.
    std::uint64_t count_above(std::uint64_t limit_ns) const noexcept;
    /// Adds another histogram to this one. Only this one's writer may call it.
    void merge(const LatencyHistogram& other) noexcept;
    /// Adds values of which only the bin is known, and that none is above limit_ns. Only this one's writer may call it.
    void add_to_bin(std::size_t bin, std::uint64_t times, std::uint64_t limit_ns) noexcept;

    static std::size_t bin_of(std::uint64_t value) noexcept {
        constexpr std::uint64_t largest = (std::uint64_t{1} << max_bits) - 1;
        if (value > largest) value = largest;
        if (value < (1U << step_bits)) return value;
        const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - step_bits;
        return (static_cast<std::size_t>(shift + 1) << step_bits) + ((value >> shift) - (1U << step_bits));
    }

  private:
    static void bump(std::atomic<std::uint64_t>& cell, std::uint64_t amount) noexcept {
        cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }

    std::array<std::atomic<std::uint64_t>, n_bins> bins_{};
    std::atomic<std::uint64_t> count_{0}, sum_{0}, max_{0};
};

}  // namespace anello

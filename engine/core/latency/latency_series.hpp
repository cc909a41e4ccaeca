// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

#include "core/clock.hpp"

namespace anello {

/// Latency as a function of time, in bins of equal length that begin at multiples of it. When time passes the last bin,
/// neighbouring bins are merged and the length doubles, so the size is fixed for a run of any length and the bins of
/// two series begin together. One writing thread, any number of readers. Readers get exact values once the writer has
/// ended; before that, bins may be moving.
class LatencySeries {
  public:
    static constexpr std::size_t n_bins = 4096;
    static constexpr Nanoseconds first_bin_ns = 10'000'000;

    struct Bin {
        std::uint64_t count, sum_ns, max_ns, n_late;
    };

    /// Values above limit_ns count as late.
    explicit LatencySeries(Nanoseconds limit_ns = 1'000'000) noexcept
        : limit_ns_(static_cast<std::uint64_t>(limit_ns)) {}

    // Hot path: no allocation, no lock, no log, no throw. Negative values (from clocks that disagree) count as 0. Times
    // before the first bin count in the first bin.
    void record(Nanoseconds at_ns, std::int64_t value_ns, std::uint64_t times = 1) noexcept {
        if (at_ns < bin_begin_ns_ || at_ns >= bin_end_ns_) move_to(at_ns);
        const auto value = value_ns < 0 ? 0U : static_cast<std::uint64_t>(value_ns);
        bump(bin_->count, times);
        bump(bin_->sum_ns, value * times);
        if (value > limit_ns_) bump(bin_->n_late, times);
        if (value > bin_->max_ns.load(std::memory_order_relaxed)) bin_->max_ns.store(value, std::memory_order_relaxed);
    }

    Nanoseconds begin_ns() const noexcept { return begin_ns_.load(std::memory_order_relaxed); }  ///< of bin 0
    Nanoseconds bin_ns() const noexcept { return length_ns_.load(std::memory_order_relaxed); }
    Bin bin(std::size_t index) const noexcept;
    std::size_t n_used() const noexcept;  ///< up to the last bin with an entry

  private:
    struct Cell {
        std::atomic<std::uint64_t> count{0}, sum_ns{0}, max_ns{0}, n_late{0};
    };
    static void bump(std::atomic<std::uint64_t>& cell, std::uint64_t amount) noexcept {
        cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
    void set(std::size_t index, const Bin& bin) noexcept;
    void move_to(Nanoseconds at_ns) noexcept;
    void double_length() noexcept;

    const std::uint64_t limit_ns_;
    std::unique_ptr<Cell[]> bins_ = std::make_unique<Cell[]>(n_bins);
    std::atomic<Nanoseconds> begin_ns_{0}, length_ns_{first_bin_ns};
    bool has_begun_ = false;
    Cell* bin_ = &bins_[0];  ///< bin of the last record, and its time range
    Nanoseconds bin_begin_ns_ = 0, bin_end_ns_ = std::numeric_limits<Nanoseconds>::min();
};

}  // namespace anello

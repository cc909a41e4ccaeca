// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

#include "core/clock.hpp"
#include "core/latency/histogram.hpp"

namespace anello {

/// The latency of one leg of the data's way, of the whole run and of any last seconds up to ten. Once a second the
/// writer saves a mark, a copy of the histogram; the last seconds are the difference to a mark, so a record costs only
/// one more comparison. One writing thread, any number of readers; it may lie in shared memory. PERF NOTE: a record
/// takes 1.9 ns of CPU, 1.5 in a histogram alone; a mark of 1 ms of bins 0.2 us (latency_bench).
class LatencyLeg {
  public:
    static constexpr Nanoseconds mark_every_ns = 1'000'000'000;
    static constexpr std::size_t n_marks = 12;  ///< one is being written, eleven cover ten seconds

    // Hot path: no allocation, no lock, no log, no throw. now_ns: wall clock.
    void record(Nanoseconds now_ns, std::int64_t value_ns, std::uint64_t times = 1) noexcept {
        const Nanoseconds since_ns = now_ns - marked_ns_.load(std::memory_order_relaxed);
        if (since_ns >= mark_every_ns || since_ns <= -mark_every_ns) mark(now_ns);
        run_.record(value_ns, times);
    }
    const LatencyHistogram& run() const noexcept { return run_; }
    /// The values recorded in the window before now_ns. With continuous records the window may be up to a second
    /// longer; it never contains older values.
    std::unique_ptr<LatencyHistogram> last(Nanoseconds window_ns, Nanoseconds now_ns) const;

  private:
    /// A copy of the histogram that holds at any time from from_ns to to_ns.
    struct Mark {
        std::atomic<Nanoseconds> from_ns{0}, to_ns{0};
        std::atomic<std::uint64_t> n_used{0};  ///< number of used bins; all later bins are 0
        std::array<std::atomic<std::uint64_t>, LatencyHistogram::n_bins> bins{};
    };
    void mark(Nanoseconds now_ns) noexcept;
    const Mark* mark_at(Nanoseconds time_ns) const noexcept;

    LatencyHistogram run_;
    // Nothing is recorded before the first mark, so the first mark is of an empty histogram.
    std::atomic<Nanoseconds> marked_ns_{std::numeric_limits<Nanoseconds>::min() / 2};
    std::atomic<std::uint64_t> n_made_{0};
    std::array<Mark, n_marks> marks_{};
};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"
#include "core/latency/histogram.hpp"
#include "core/latency/latency_series.hpp"
#include "core/thread.hpp"

namespace anello {

/// Measures how late the machine wakes a thread, on the same core as a run: the probe naps and records how much later
/// than requested it woke. No latency of the run can be better than that. One thread calls all members except the
/// results.
class HiccupProbe {
  public:
    /// A nap is long enough that waking takes at most `share` of the core. PERF NOTE: waking takes 1 to 3 us of a
    /// processor, but 20 in a virtual machine within another (clock_nanosleep, timer or futex alike).
    static constexpr Nanoseconds shortest_nap_ns = 500'000, longest_nap_ns = 50'000'000;
    /// Without data for this time the probe naps for Config::idle_nap_ns and records nothing.
    static constexpr Nanoseconds idle_after_ns = 500'000'000;
    static constexpr std::uint32_t n_naps_per_look = 32;  ///< then the probe measures its own cost

    struct Config {
        double share;                           ///< largest share of the core for waking
        std::function<std::uint64_t()> n_done;  ///< grows while data arrives
        Nanoseconds idle_nap_ns = longest_nap_ns;
        std::int64_t (*cpu_ns)() noexcept = thread_cpu_ns;
    };

    /// The clock must outlive it. Throws SystemError.
    HiccupProbe(Config config, const Clock& clock);

    std::size_t do_work() noexcept;  ///< returns 1 when it has woken, 0 while it is too early
    int descriptor() const noexcept { return timer_.number(); }

    /// How long work that arrives at a random moment would wait. Each nap stands for the time around it, and a delay
    /// longer than a nap also for the naps that should have ended during it. The quantiles are those of the machine.
    const LatencyHistogram& delays() const noexcept { return delays_; }
    const LatencySeries& series() const noexcept { return series_; }  ///< The longest delays, by their ends.
    /// True if its thread has real-time priority.
    bool is_realtime() const noexcept { return is_realtime_.load(std::memory_order_relaxed); }

  private:
    void note(Nanoseconds late_ns) noexcept;
    void look_for_data(Nanoseconds now_ns) noexcept;
    void look_at_cost() noexcept;

    const Config config_;
    const Clock& clock_;
    const Descriptor timer_ = make_timer_descriptor();
    Nanoseconds due_ns_ = 0, came_ns_ = 0, nap_ns_ = shortest_nap_ns;
    std::int64_t cpu_ns_ = 0;
    std::uint64_t n_seen_ = 0;
    std::uint32_t n_naps_ = 0;
    bool has_begun_ = false, is_watching_ = false;
    std::atomic<bool> is_realtime_{false};
    LatencyHistogram delays_;
    LatencySeries series_;
};

}  // namespace anello

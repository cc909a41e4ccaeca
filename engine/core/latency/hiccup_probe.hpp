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

/// How late the machine runs a thread whose time has come, beside a run on the same core: it naps, and notes how much
/// later than asked it woke. No latency of the run can be better than this. The thread that runs it calls all members
/// but the results.
class HiccupProbe {
  public:
    /// A nap lasts as long as it must for waking to take no more than a share of the core. PERF NOTE: waking takes 1 to
    /// 3 us of a processor, but 20 in a virtual machine within another (clock_nanosleep, timer or futex alike).
    static constexpr Nanoseconds shortest_nap_ns = 500'000, longest_nap_ns = 50'000'000;
    /// Without data for so long it naps Config::idle_nap_ns, and notes nothing.
    static constexpr Nanoseconds idle_after_ns = 500'000'000;
    static constexpr std::uint32_t n_naps_per_look = 32;  ///< then its cost is looked at

    struct Config {
        double share;                           ///< of the core, that waking may take
        std::function<std::uint64_t()> n_done;  ///< grows while there are data
        Nanoseconds idle_nap_ns = longest_nap_ns;
        std::int64_t (*cpu_ns)() noexcept = thread_cpu_ns;
    };

    /// The clock must outlive it. Throws SystemError.
    HiccupProbe(Config config, const Clock& clock);

    std::size_t do_work() noexcept;  ///< 1 when it has woken, 0 while it is not yet time
    int descriptor() const noexcept { return timer_.number(); }

    /// How long work that comes at any moment would wait: each nap's moment stands for those around it, and a delay
    /// that is longer than a nap for those naps, too, whose time came meanwhile. Its quantiles are the machine's own.
    const LatencyHistogram& delays() const noexcept { return delays_; }
    const LatencySeries& series() const noexcept { return series_; }  ///< The longest delays, by when they ended.
    /// Its thread goes before all usual ones.
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

// SPDX-License-Identifier: Apache-2.0
#include "core/latency/hiccup_probe.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace anello {

HiccupProbe::HiccupProbe(Config config, const Clock& clock) : config_(std::move(config)), clock_(clock) {
    set_timer(timer_, 0);
}

// Hot path: no allocation, no lock, no log, no throw.
std::size_t HiccupProbe::do_work() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (has_begun_ && now_ns < due_ns_) return 0;
    if (is_watching_) note(now_ns - due_ns_);
    look_for_data(now_ns);
    if (n_naps_++ % n_naps_per_look == 0) look_at_cost();
    const Nanoseconds nap_ns = is_watching_ ? nap_ns_ : config_.idle_nap_ns;
    due_ns_ = now_ns + nap_ns;
    set_timer(timer_, nap_ns);
    return 1;
}

void HiccupProbe::note(Nanoseconds late_ns) noexcept {
    series_.record(clock_.wall_ns(), late_ns);
    for (Nanoseconds left_ns = late_ns; left_ns >= 0; left_ns -= nap_ns_) delays_.record(left_ns);
}

void HiccupProbe::look_for_data(Nanoseconds now_ns) noexcept {
    const std::uint64_t n_done = config_.n_done();
    if (!has_begun_ || n_done != n_seen_) came_ns_ = now_ns;
    if (!std::exchange(has_begun_, true))
        is_realtime_.store(sched_getscheduler(0) == SCHED_FIFO, std::memory_order_relaxed);
    n_seen_ = n_done;
    is_watching_ = now_ns - came_ns_ < idle_after_ns;
}

void HiccupProbe::look_at_cost() noexcept {
    const std::int64_t cpu_ns = config_.cpu_ns();
    if (n_naps_ > n_naps_per_look) {
        const double per_nap_ns = static_cast<double>(cpu_ns - cpu_ns_) / n_naps_per_look;
        nap_ns_ = static_cast<Nanoseconds>(
            std::clamp(per_nap_ns / config_.share, double{shortest_nap_ns}, double{longest_nap_ns}));
    }
    cpu_ns_ = cpu_ns;
}

}  // namespace anello

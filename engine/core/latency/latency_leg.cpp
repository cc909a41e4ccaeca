// SPDX-License-Identifier: Apache-2.0
#include "core/latency/latency_leg.hpp"

#include <algorithm>

namespace anello {

/// The values recorded before now_ns were recorded within a second of the previous mark, so this mark holds from then
/// on. If the clock was put back, the marks start anew.
void LatencyLeg::mark(Nanoseconds now_ns) noexcept {
    const std::uint64_t made = n_made_.load(std::memory_order_relaxed);
    const Nanoseconds before_ns = marked_ns_.load(std::memory_order_relaxed);
    Mark& mark = marks_[made % n_marks];
    const Nanoseconds from_ns = now_ns < before_ns ? 0 : std::min(before_ns + mark_every_ns, now_ns);
    mark.from_ns.store(from_ns, std::memory_order_relaxed);
    mark.to_ns.store(now_ns, std::memory_order_relaxed);
    const std::size_t n_used = run_.count() == 0 ? 0 : LatencyHistogram::bin_of(run_.max_ns()) + 1;
    for (std::size_t bin = 0; bin < n_used; ++bin) mark.bins[bin].store(run_.bin_count(bin), std::memory_order_relaxed);
    mark.n_used.store(n_used, std::memory_order_relaxed);
    marked_ns_.store(now_ns, std::memory_order_relaxed);
    n_made_.store(made + 1, std::memory_order_release);  // pairs with the acquire in mark_at()
}

/// The newest mark that holds at that time or a little later; null if everything recorded is older.
const LatencyLeg::Mark* LatencyLeg::mark_at(Nanoseconds time_ns) const noexcept {
    const std::uint64_t made = n_made_.load(std::memory_order_acquire);  // pairs with the release in mark()
    const Nanoseconds marked_ns = marked_ns_.load(std::memory_order_relaxed);
    if (made == 0 || time_ns - mark_every_ns >= marked_ns) return nullptr;
    const std::uint64_t n_there = std::min<std::uint64_t>(made, n_marks - 1);
    const Mark* found = nullptr;
    for (std::uint64_t back = 1; back <= n_there; ++back) {
        found = &marks_[(made - back) % n_marks];
        if (found->from_ns.load(std::memory_order_relaxed) <= time_ns) break;
    }
    return found;
}

std::unique_ptr<LatencyHistogram> LatencyLeg::last(Nanoseconds window_ns, Nanoseconds now_ns) const {
    auto since = std::make_unique<LatencyHistogram>();
    const Mark* const from = mark_at(now_ns - window_ns);
    if (from == nullptr) return since;
    const std::uint64_t n_used = from->n_used.load(std::memory_order_relaxed);
    for (std::size_t bin = 0; bin < LatencyHistogram::n_bins; ++bin) {
        const std::uint64_t before = bin < n_used ? from->bins[bin].load(std::memory_order_relaxed) : 0;
        const std::uint64_t now = run_.bin_count(bin);
        if (now > before) since->add_to_bin(bin, now - before, run_.max_ns());
    }
    return since;
}

}  // namespace anello

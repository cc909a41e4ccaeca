// SPDX-License-Identifier: Apache-2.0
#include "core/counters/thread_cell.hpp"

#include <algorithm>

namespace anello {
namespace {

/// Wraps on overflow, because a cell of another process may hold any values.
Nanoseconds passed_ns(Nanoseconds one, Nanoseconds other) noexcept {
    return static_cast<Nanoseconds>(static_cast<std::uint64_t>(one) - static_cast<std::uint64_t>(other));
}

double share_of(Nanoseconds part_ns, Nanoseconds whole_ns) noexcept {
    if (whole_ns <= 0 || part_ns <= 0) return 0;
    return std::min(1.0, static_cast<double>(part_ns) / static_cast<double>(whole_ns));
}

}  // namespace

void ThreadCell::begin(Nanoseconds now_ns) noexcept {
    put(began_ns_, now_ns);
    put(seen_ns_, now_ns);
    put(busy_ns_, Nanoseconds{0});
    put(longest_ns_, Nanoseconds{0});
    for (Second& second : seconds_) {
        put(second.begin_ns, now_ns);
        put(second.busy_before_ns, Nanoseconds{0});
        put(second.longest_ns, Nanoseconds{0});
    }
    runs_.store(1, std::memory_order_release);  // pairs with the acquire in told()
}

void ThreadCell::end(Nanoseconds now_ns) noexcept {
    put(seen_ns_, now_ns);
    runs_.store(0, std::memory_order_relaxed);
}

void ThreadCell::turn(Nanoseconds now_ns) noexcept {
    const std::uint64_t n_turns = of(n_turns_) + 1;
    Second& second = seconds_[n_turns % 2];
    put(second.begin_ns, now_ns);
    put(second.busy_before_ns, of(busy_ns_));
    put(second.longest_ns, Nanoseconds{0});
    n_turns_.store(n_turns, std::memory_order_release);  // pairs with the acquire in told()
}

ThreadCell::Told ThreadCell::told() const noexcept {
    const bool runs = runs_.load(std::memory_order_acquire) != 0;            // pairs with begin()
    const std::uint64_t n_turns = n_turns_.load(std::memory_order_acquire);  // pairs with turn()
    const Second &now = seconds_[n_turns % 2], &before = seconds_[(n_turns + 1) % 2];
    const Nanoseconds seen_ns = of(seen_ns_), busy_ns = of(busy_ns_);
    return {
        .runs = runs,
        .seen_ns = seen_ns,
        .busy = share_of(busy_ns, passed_ns(seen_ns, of(began_ns_))),
        .busy_last = share_of(passed_ns(busy_ns, of(before.busy_before_ns)), passed_ns(seen_ns, of(before.begin_ns))),
        .longest_ns = of(longest_ns_),
        .longest_last_ns = std::max(of(now.longest_ns), of(before.longest_ns))};
}

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "source/selection.hpp"
#include "source/source_counters.hpp"

namespace anello::source {

/// The pool's event that was sent under an event key.
struct TruthSample {
    std::uint64_t event_key;   ///< burst_id << 32 | timestamp_ticks, or run_id << 32 | event_number
    std::uint32_t pool_index;  ///< also the event's index in the sample that fills the pool
};

/// The truth of the events that selected() chooses, as long as there is room. One thread notes, any thread reads.
class TruthLog {
  public:
    struct Limits {
        std::uint32_t prescale_log2 = 0;
        std::uint32_t max_samples = 0;
    };
    TruthLog(const Limits& limits, Counters<GeneratorCounter> counters)
        : prescale_log2_(limits.prescale_log2), samples_(limits.max_samples), counters_(counters) {}

    // Hot path: no allocation, no lock, no log, no throw.
    void note(std::uint64_t event_key, std::uint32_t pool_index) noexcept {
        if (!selected(event_key, prescale_log2_)) return;
        const std::size_t n = n_.load(std::memory_order_relaxed);
        if (n == samples_.size()) return counters_.add(GeneratorCounter::truth_not_kept);
        samples_[n] = {event_key, pool_index};
        n_.store(n + 1, std::memory_order_release);  // pairs with the acquire in samples()
        counters_.add(GeneratorCounter::truth_samples);
    }
    std::span<const TruthSample> samples() const noexcept {
        return {samples_.data(), n_.load(std::memory_order_acquire)};  // pairs with the release in note()
    }

  private:
    const std::uint32_t prescale_log2_;
    std::vector<TruthSample> samples_;
    std::atomic<std::size_t> n_{0};
    Counters<GeneratorCounter> counters_;
};

}  // namespace anello::source

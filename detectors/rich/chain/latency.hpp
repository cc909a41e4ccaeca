// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"
#include "core/latency/latency_leg.hpp"
#include "core/latency/latency_series.hpp"
#include "rich/decide/decision.hpp"

namespace anello::rich {

/// Parts of the way from the event to the primitive, between the time stamps that each event has.
enum class Leg : std::uint8_t {
    sent_to_kernel,
    kernel_to_placed,
    placed_to_built,
    built_to_decided,
    decided_to_emitted,
    sent_to_decided,
    sent_to_emitted,
    event_to_sent,
    event_to_decided,
    event_to_emitted,
    count
};

inline constexpr std::array<const char*, static_cast<std::size_t>(Leg::count)> leg_names{
    "sent_to_kernel",  "kernel_to_placed", "placed_to_built", "built_to_decided", "decided_to_emitted",
    "sent_to_decided", "sent_to_emitted",  "event_to_sent",   "event_to_decided", "event_to_emitted"};

/// Records the latency of every event for each leg. It leaves out legs whose stamps are not known (no clock, a file).
class LatencyRecorder {
  public:
    explicit LatencyRecorder(CounterPage& page);  ///< Throws ConfigError.

    // Hot path: no allocation, no lock, no log, no throw.
    void record(const DecisionBatch& batch, Nanoseconds emitted_ns) noexcept;
    /// Series of the two latencies until the decision: from sending, and from the event itself.
    const LatencySeries& sent_to_decided() const noexcept { return sent_to_decided_; }
    const LatencySeries& event_to_decided() const noexcept { return event_to_decided_; }
    const LatencyHistogram& of(Leg leg) const noexcept { return legs_[static_cast<std::size_t>(leg)]->run(); }

  private:
    void record_from_event(const DecisionBatch& batch, Nanoseconds emitted_ns) noexcept;
    void record(Leg leg, Nanoseconds from_ns, Nanoseconds to_ns, std::uint32_t n_events) noexcept {
        if (from_ns != 0 && to_ns != 0)
            legs_[static_cast<std::size_t>(leg)]->record(now_ns_, to_ns - from_ns, n_events);
    }

    std::array<LatencyLeg*, static_cast<std::size_t>(Leg::count)> legs_;  ///< in the page
    Nanoseconds now_ns_ = 0;                                              ///< time at which the batch was decided
    LatencySeries sent_to_decided_, event_to_decided_;
};

}  // namespace anello::rich

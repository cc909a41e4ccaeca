// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/station/node_units.hpp"

namespace anello::exchange {

/// What a node waits for while it has no work, and for how long, by what its units counted in the last step.
class WaitCauses {
  public:
    explicit WaitCauses(Counters<StationCounter> counters) : counters_(counters) {}

    // Hot path: no allocation, no lock, no log, no throw.
    /// The time since the last step began.
    void count(Nanoseconds since_ns) noexcept {
        if (is_waiting_) counters_.add(cause_, static_cast<std::uint64_t>(since_ns));
    }
    /// A step is over; `is_idle`: it did nothing.
    void note(bool is_idle, const NodeUnits& units) noexcept;
    /// Whether the transport gets MFPs first in this step. Control messages go before MFPs, which take all room of the
    /// transport; but not always, because on slow networks control messages may take all of it, too.
    bool take_readout_turn() noexcept {
        is_readout_first_ = !is_readout_first_ && is_readout_refused_;
        return is_readout_first_;
    }

  private:
    StationCounter cause_of(const NodeUnits& units) const noexcept;

    Counters<StationCounter> counters_;
    bool is_waiting_ = false;  ///< the last step did nothing, for this reason:
    StationCounter cause_ = StationCounter::waited_for_data_ns;
    bool is_readout_refused_ = false, is_readout_first_ = false;  ///< by the transport, which gets MFPs first
    std::uint64_t sink_full_ = 0, transport_full_ = 0;            ///< counts before the last step
};

}  // namespace anello::exchange

// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/wait_causes.hpp"

namespace anello::exchange {
namespace {

/// MFPs taken from the source and neither sent nor lost.
bool holds_unassigned(const ReadoutUnit& readout) noexcept {
    using enum ReadoutCounter;
    const auto& counters = readout.counters();
    return counters[mfps_taken] > counters[mfps_sent] + counters[mfps_lost] + counters[mfps_lost_to_dead_builder] +
                                      counters[mfps_too_late] + counters[mfps_before_start];
}

}  // namespace

void WaitCauses::note(bool is_idle, const NodeUnits& units) noexcept {
    is_waiting_ = is_idle;
    if (is_idle) cause_ = cause_of(units);
    if (const BuilderUnit* builder = units.builder()) sink_full_ = builder->counters()[BuilderCounter::waits_for_sink];
    if (const ReadoutUnit* readout = units.readout()) {
        const std::uint64_t transport_full = readout->counters()[ReadoutCounter::waits_for_transport];
        is_readout_refused_ = transport_full > transport_full_;
        transport_full_ = transport_full;
    }
}

StationCounter WaitCauses::cause_of(const NodeUnits& units) const noexcept {
    const BuilderUnit* const builder = units.builder();
    const ReadoutUnit* const readout = units.readout();
    if (builder && builder->counters()[BuilderCounter::waits_for_sink] > sink_full_)
        return StationCounter::waited_for_sink_ns;
    if (readout && readout->counters()[ReadoutCounter::waits_for_transport] > transport_full_)
        return StationCounter::waited_for_transport_ns;
    if (builder && builder->counters()[BuilderCounter::slots_used] > 0) return StationCounter::waited_for_parts_ns;
    if (readout && holds_unassigned(*readout)) return StationCounter::waited_for_credit_ns;
    return StationCounter::waited_for_data_ns;
}

}  // namespace anello::exchange

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.hpp"
#include "rich/rings/ring_finder.hpp"
#include "rich/rings/ring_quality.hpp"

namespace anello::rich {

/// The trigger's decisions on one batch of events, in time order. Columns are borrowed from the batch's buffer and
/// its decision buffer; all have n_events entries.
struct DecisionBatch {
    std::uint32_t n_events;
    std::uint32_t burst_id;
    bool end_of_burst;               ///< this is the last batch of its burst (it may have no events)
    const std::uint64_t* event_key;  ///< burst_id << 32 | timestamp_ticks, in ascending order
    const std::uint8_t* fine_time;
    const std::uint8_t* event_flags;    ///< events::EventFlag
    const std::uint16_t* primitive_id;  ///< 0: no primitive is emitted for this event
    const EventRings* rings;
    const Nanoseconds* sent_ns;  ///< wall-clock stamps of the stages so far; 0 = not known
    const Nanoseconds* kernel_ns;
    const Nanoseconds* placed_ns;
    Nanoseconds built_ns;
    Nanoseconds decided_ns;
    const EventQuality* quality = nullptr;  ///< of the rings; null: not computed
    Nanoseconds burst_origin_ns = 0;        ///< the front ends' wall clock at timestamp 0; 0 = not known
};

/// Time at which the event happened, by the front ends' wall clock. Needs the burst's origin.
inline Nanoseconds event_ns(const DecisionBatch& batch, std::uint32_t event) noexcept {
    const auto fine = std::uint64_t{static_cast<std::uint32_t>(batch.event_key[event])} << 8 | batch.fine_time[event];
    return batch.burst_origin_ns + static_cast<Nanoseconds>(static_cast<double>(fine) * fine_time_ns);
}

/// Time at which the event's latency begins: that of the event or, if it is not known or later than its sending
/// (unpaced source), that of its sending. 0: not known, because the event is from a file.
inline Nanoseconds begin_ns(const DecisionBatch& batch, std::uint32_t event) noexcept {
    const Nanoseconds sent_ns = batch.sent_ns[event];
    if (sent_ns == 0 || batch.kernel_ns[event] == 0) return 0;
    return batch.burst_origin_ns == 0 ? sent_ns : std::min(event_ns(batch, event), sent_ns);
}

}  // namespace anello::rich

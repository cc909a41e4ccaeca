// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "rich/rings/ring_finder.hpp"

namespace anello::rich {

/// The trigger's decisions on one batch of events, in time order. Columns are borrowed from the batch's buffer and
/// its decision buffer; all have n_events entries.
struct DecisionBatch {
    std::uint32_t n_events;
    std::uint32_t burst_id;
    bool end_of_burst;               ///< the last batch of its burst (may have no events)
    const std::uint64_t* event_key;  ///< burst_id << 32 | timestamp_ticks, rising
    const std::uint8_t* fine_time;
    const std::uint8_t* event_flags;    ///< events::EventFlag
    const std::uint16_t* primitive_id;  ///< 0: no primitive is emitted for this event
    const EventRings* rings;
    const Nanoseconds* sent_ns;  ///< wall clock stamps of the way so far; 0 = not known
    const Nanoseconds* kernel_ns;
    const Nanoseconds* placed_ns;
    Nanoseconds built_ns;
    Nanoseconds decided_ns;
};

}  // namespace anello::rich

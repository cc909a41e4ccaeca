// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "rich/decide/decision.hpp"

namespace anello::rich {

inline constexpr std::uint32_t max_snapshot_hits = 128;

/// A copy of an event with its decision, for the display. The data path offers some events, and drops them when nobody
/// takes them.
struct EventSnapshot {
    std::uint64_t event_key;
    std::uint32_t n_hits;  ///< at most max_snapshot_hits
    EventRings rings;
    std::array<std::uint16_t, max_snapshot_hits> hit_id;
    std::array<std::int16_t, max_snapshot_hits> hit_time_fine;
};

/// Execution time of one batch.
struct ExecutionSample {
    std::uint32_t n_events;
    Nanoseconds build_ns;
    Nanoseconds trigger_ns;
};

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters of the decisions' file. After the writer is closed:
/// events_seen = events_stored + events_not_selected + events_lost.
namespace anello::rich {

enum class StoreCounter : std::uint8_t {
    events_seen,
    events_not_selected,
    events_stored,
    events_lost,
    rings_stored,
    chunks_written,
    errors,
    refusing,
    count
};

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 8> counter_labels<rich::StoreCounter>{{
    {"events_seen", "decisions offered to the file", Place::decisions},
    {"events_not_selected", "decisions that the prescale left out", Place::decisions},
    {"events_stored", "decisions written to the file", Place::decisions},
    {"events_lost", "decisions not written because of an error", Place::decisions},
    {"rings_stored", "rings written to the file", Place::informative},
    {"chunks_written", "times that memory was emptied into the file", Place::informative},
    {"errors", "refusals of the file (disk full, input/output error)", Place::informative},
    {"refusing", "1 while the file takes nothing, as on a full disk", Place::informative, gauge},
}};

}  // namespace anello

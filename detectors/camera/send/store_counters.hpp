// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// compress: events = events_encoded + events_failed
/// camera_store: events_seen = events_stored + events_lost, once the writer is closed
namespace anello::camera {

enum class CompressCounter : std::uint8_t { events, events_encoded, events_failed, bytes_in, bytes_out, count };

enum class CameraStoreCounter : std::uint8_t {
    events_seen,
    events_stored,
    events_lost,
    boards_misfit,
    bytes_stored,
    chunks_written,
    errors,
    refusing,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 5> counter_labels<camera::CompressCounter>{{
    {"events", "events to be encoded", Place::informative},
    {"events_encoded", "made into records, rows of the table, or both", Place::events},
    {"events_failed", "events of which that could not be made", Place::events},
    {"bytes_in", "headers and waveforms of the events encoded, for each format", Place::informative, in_bytes},
    {"bytes_out", "bytes of what was made of them", Place::informative, in_bytes},
}};

template <>
inline constexpr std::array<CounterLabel, 8> counter_labels<camera::CameraStoreCounter>{{
    {"events_seen", "events offered to the file", Place::events},
    {"events_stored", "events written to the file", Place::events},
    {"events_lost", "events not written because of an error", Place::events},
    {"boards_misfit", "boards of which the table has the header alone: another shape than camera says", Place::verdict},
    {"bytes_stored", "bytes of what boards sent, as written", Place::informative, in_bytes},
    {"chunks_written", "times that memory was emptied into the file", Place::informative},
    {"errors", "refusals of the file (disk full, input/output error)", Place::informative},
    {"refusing", "1 while the file takes nothing, as on a full disk", Place::informative, gauge},
}};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters.hpp"

/// compress: events = events_encoded + events_failed
/// camera_store: events_seen = events_stored + events_lost, once the writer is closed
namespace anello::store {

enum class CompressCounter : std::uint8_t { events, events_encoded, events_failed, bytes_in, bytes_out, count };

enum class CameraStoreCounter : std::uint8_t {
    events_seen,
    events_stored,
    events_lost,
    bytes_stored,
    chunks_written,
    errors,
    count
};

}  // namespace anello::store

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 5> counter_labels<store::CompressCounter>{{
    {"events", "events to be encoded"},
    {"events_encoded", "records made"},
    {"events_failed", "events of which no record could be made"},
    {"bytes_in", "headers and waveforms of the events encoded"},
    {"bytes_out", "bytes of their records"},
}};

template <>
inline constexpr std::array<CounterLabel, 6> counter_labels<store::CameraStoreCounter>{{
    {"events_seen", "events offered to the file"},
    {"events_stored", "events written to the file"},
    {"events_lost", "events not written because of an error"},
    {"bytes_stored", "bytes of the records written"},
    {"chunks_written", "times that memory was emptied into the file"},
    {"errors", "refusals of the file (disk full, input/output error)"},
}};

}  // namespace anello

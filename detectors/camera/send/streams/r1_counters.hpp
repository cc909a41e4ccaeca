// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// At the end: events_sent of the stream = events_in + events_never_taken
///             events_in = events_written + events_refused + events_lost + events_lost_with_writer
namespace anello::camera {

enum class R1WriterCounter : std::uint8_t {
    events_in,
    events_written,
    events_refused,
    events_lost,
    events_never_taken,
    events_lost_with_writer,
    boards_left_out,
    files_written,
    bytes_written,
    died,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 10> counter_labels<camera::R1WriterCounter>{{
    {"events_in", "events that the process which writes the files has taken", Place::events},
    {"events_written", "events in files that are complete and have their names", Place::events},
    {"events_refused", "events that no R1v1 file of this camera can hold", Place::events},
    {"events_lost", "events of files that could not be written (disk full, input/output error)", Place::events},
    {"events_never_taken", "events sent to a writer that died before it took them; known at the end", Place::events},
    {"events_lost_with_writer", "events in the file that a writer had open when it died; known at the end",
     Place::events},
    {"boards_left_out", "boards left out of events: calibrated or not, or of another shape, unlike those before",
     Place::verdict},
    {"files_written", "files that are complete", Place::informative},
    {"bytes_written", "bytes of these files", Place::informative, in_bytes},
    {"died", "1 where the writer ended before the run did", Place::verdict, gauge},
}};

}  // namespace anello

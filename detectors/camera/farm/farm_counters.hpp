// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// A camera's lines in the ledger of a farm, exact once all is drained:
///   readout   parts_in = parts_packed + parts_other_run + parts_before_start + parts_after_end + parts_left
///             parts_in = events_out of build.group<g>; mfps = mfps_taken of block readout
///   builder   meps = meps_complete + meps_incomplete of block builder
///             places = events_out + places_empty
///             parts_in = parts_joined + parts_malformed + parts_of_other
///             events_out = events_complete + events_incomplete
///   farm      sum(parts_packed) = sum(unpack parts_in) + parts in MFPs that were not built
namespace anello::camera {

/// Of a readout unit that reads out a camera: block "pack".
enum class CameraPackCounter : std::uint8_t {
    parts_in,
    parts_packed,
    parts_other_run,
    parts_before_start,
    parts_after_end,
    parts_left,
    runs_ended,
    mfps,
    bytes,
    waits_for_room,
    count
};

/// Of a builder unit that gives a camera's events on: block "unpack".
enum class CameraUnpackCounter : std::uint8_t {
    meps,
    places,
    places_empty,
    parts_in,
    parts_joined,
    parts_malformed,
    parts_of_other,
    fragments,
    fragments_malformed,
    events_out,
    events_complete,
    events_incomplete,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 10> counter_labels<camera::CameraPackCounter>{{
    {"parts_in", "events of this node's boards taken from the camera builder", Place::parts},
    {"parts_packed", "of these: put into a MFP", Place::parts},
    {"parts_other_run", "dropped because they are of another run of the camera than the first", Place::parts},
    {"parts_before_start", "dropped because their multi-event packet is before the first that this unit reads out",
     Place::parts},
    {"parts_after_end", "dropped because their multi-event packet is after the last of the run", Place::parts},
    {"parts_left", "dropped because the node ended before they found room", Place::parts},
    {"runs_ended", "ends of a run of the camera", Place::informative},
    {"mfps", "MFPs given to the readout unit", Place::mfps},
    {"bytes", "their length", Place::informative, in_bytes},
    {"waits_for_room", "steps that found no free buffer and waited", Place::informative},
}};

template <>
inline constexpr std::array<CounterLabel, 12> counter_labels<camera::CameraUnpackCounter>{{
    {"meps", "multi-event packets taken from the builder", Place::meps},
    {"places", "events that these have room for", Place::events},
    {"places_empty", "of these: no readout unit has anything that can be used", Place::events},
    {"parts_in", "camera groups in multi-event packets", Place::parts},
    {"parts_joined", "of these: part of an event that was handed on", Place::parts},
    {"parts_malformed", "of these: not used, header or length are wrong", Place::parts},
    {"parts_of_other", "of these: not used, of other boards, another event or run than they should be", Place::parts},
    {"fragments", "fragments in events that were handed on", Place::informative},
    {"fragments_malformed", "fragments not used because they are not what their group says", Place::informative},
    {"events_out", "events handed on", Place::events},
    {"events_complete", "of these: with a fragment of every board of the camera", Place::events},
    {"events_incomplete", "of these: without some", Place::events},
}};

}  // namespace anello

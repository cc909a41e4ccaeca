// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "exchange/part_counters.hpp"

/// A camera's lines in the ledger of a farm, in addition to exchange/part_counters.hpp; a part is a group of boards:
///   readout   parts_in = ... + parts_other_run;  parts_in = events_out of build.group<g>
///   builder   events_out = events_complete + events_incomplete
namespace anello::camera {

/// Counters of a readout unit that reads out a camera: block "pack".
enum class CameraPackCounter : std::uint8_t {
    parts_other_run = static_cast<std::uint8_t>(exchange::PackCounter::count),
    runs_ended,
    count
};

/// Counters of a builder unit that hands on a camera's events: block "unpack".
enum class CameraUnpackCounter : std::uint8_t {
    fragments = static_cast<std::uint8_t>(exchange::UnpackCounter::count),
    fragments_malformed,
    events_out,
    events_complete,
    events_incomplete,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 10> counter_labels<camera::CameraPackCounter> = exchange::extended(
    exchange::pack_labels({"parts_in", "parts_packed", "parts_before_start", "parts_after_end", "parts_left"},
                          "events of this node's boards taken from the camera builder"),
    {
        {"parts_other_run", "dropped because they are of another run of the camera than the first", Place::parts},
        {"runs_ended", "ends of a run of the camera", Place::informative},
    });

template <>
inline constexpr std::array<CounterLabel, 12> counter_labels<camera::CameraUnpackCounter> = exchange::extended(
    exchange::unpack_labels(Place::events, "events that these have room for"),
    {
        {"fragments", "fragments in events that were handed on", Place::informative},
        {"fragments_malformed", "fragments not used because they are not what their group says", Place::informative},
        {"events_out", "events handed on", Place::events},
        {"events_complete", "of these: with a fragment of every board of the camera", Place::events},
        {"events_incomplete", "of these: without some", Place::events},
    });

}  // namespace anello

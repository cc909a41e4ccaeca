// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The joiner's lines of the ledger, exact once all parts are taken; the right sides are sums over groups of
/// CameraBuildCounter:
///   parts_in  = parts_joined + parts_late = events_out
///   fragments = (fragments_placed) - fragments_late
///   events_out = events_complete + events_incomplete
namespace anello::camera {

enum class CameraJoinCounter : std::uint8_t {
    parts_in,
    parts_joined,
    parts_late,
    fragments,
    fragments_late,
    events_out,
    events_complete,
    events_incomplete,
    runs_ended,
    runs_outvoted,
    groups_silenced,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 11> counter_labels<camera::CameraJoinCounter>{{
    {"parts_in", "parts of events taken from the builders", Place::parts},
    {"parts_joined", "parts that became part of a joined event", Place::parts},
    {"parts_late", "parts dropped because their event or run had gone without their group", Place::parts},
    {"fragments", "fragments in joined events", Place::fragments},
    {"fragments_late", "fragments in parts that were dropped", Place::fragments},
    {"events_out", "events handed to the consumer", Place::events},
    {"events_complete", "events with a fragment of every board of the camera", Place::events},
    {"events_incomplete", "events that lack at least one board", Place::events},
    {"runs_ended", "runs that every group has ended", Place::informative},
    {"runs_outvoted", "runs that few boards spoke of until the others spoke of another", Place::informative},
    {"groups_silenced", "times that the others went on without a group", Place::informative},
}};

}  // namespace anello

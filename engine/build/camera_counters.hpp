// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters.hpp"

/// The camera builder's lines of the ledger, exact once a run has ended:
///   datagrams    = (verdicts that are not ok) + strangers + fragments_in + markers
///   fragments_in = fragments_placed + _duplicate + _late + _ahead + _other_run + _wrong_board + _wrong_size + _dropped
///   events_out   = events_complete + events_timeout + events_pushed_out + events_run_ended
///   events_out * boards of the group = fragments_placed + fragments_missing
///   strangers    = those of its boards
///   per board: announced = placed - disowned + duplicate-free losses (lost) + late + ahead + other_run + dropped, by
///   sequence
namespace anello::build {

/// Of one group of boards: block "build.group<g>".
enum class CameraBuildCounter : std::uint8_t {
    datagrams,
    bytes,
    fragments_in,
    markers,
    fragments_placed,
    fragments_duplicate,
    fragments_late,
    fragments_ahead,
    fragments_other_run,
    fragments_wrong_board,
    fragments_wrong_size,
    fragments_dropped,
    fragments_missing,
    events_out,
    events_complete,
    events_timeout,
    events_pushed_out,
    events_run_ended,
    runs_begun,
    windows_moved,
    landed_in_place,
    landed_elsewhere,
    boards_silenced,
    stalls_no_buffer,
    strangers,
    count
};

/// Of one board: block "build.board<b>".
enum class CameraBoardCounter : std::uint8_t {
    placed,
    duplicate,
    late,
    ahead,
    other_run,
    dropped,
    missing,
    lost,
    announced,
    silences,
    state,
    strangers,
    source_changes,
    mistaken_strangers,
    disowned,
    count
};

}  // namespace anello::build

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 25> counter_labels<build::CameraBuildCounter>{{
    {"datagrams", "datagrams taken from the receive stage"},
    {"bytes", "UDP payload of those datagrams"},
    {"fragments_in", "data fragments whose header and checksum are right"},
    {"markers", "start-of-run and end-of-run markers"},
    {"fragments_placed", "fragments that became part of an event"},
    {"fragments_duplicate", "fragments dropped because their board had given the event's before"},
    {"fragments_late", "fragments dropped because their event had gone"},
    {"fragments_ahead",
     "fragments dropped because their event number is beyond the window and no other board confirms"},
    {"fragments_other_run", "fragments dropped because their run is over or not confirmed"},
    {"fragments_wrong_board", "fragments dropped because their board does not send to this port or is unknown"},
    {"fragments_wrong_size", "fragments dropped because their payload is larger than a slot"},
    {"fragments_dropped", "fragments dropped because no event buffer was free (policy drop_new)"},
    {"fragments_missing", "fragments that events went out without"},
    {"events_out", "events handed on"},
    {"events_complete", "events with a fragment of every board"},
    {"events_timeout", "events handed on without boards that did not come in time, or are known to be silent"},
    {"events_pushed_out", "events handed on incomplete because the window moved on"},
    {"events_run_ended", "events handed on incomplete because their run was over"},
    {"runs_begun", "runs begun"},
    {"windows_moved", "jumps of the event number that several boards confirmed"},
    {"landed_in_place", "datagrams that the kernel wrote straight into their slot"},
    {"landed_elsewhere", "datagrams that were expected in another slot and had to be moved"},
    {"boards_silenced", "times that the others went on without a board"},
    {"stalls_no_buffer", "times that building waited for a free event buffer"},
    {"strangers", "datagrams not used: they came from another address than their board is bound to"},
}};

template <>
inline constexpr std::array<CounterLabel, 15> counter_labels<build::CameraBoardCounter>{{
    {"placed", "fragments of this board that became part of an event"},
    {"duplicate", "fragments of this board that had come before"},
    {"late", "fragments of this board whose event had gone"},
    {"ahead", "fragments of this board beyond the window"},
    {"other_run", "fragments of this board of another run"},
    {"dropped", "fragments of this board that found no free event buffer"},
    {"missing", "events that went out without this board"},
    {"lost", "fragments of this board that never came, by its sequence and its end-of-run totals"},
    {"announced", "fragments that this board says it has sent (end-of-run markers)"},
    {"silences", "times that the others went on without this board"},
    {"state", "0 live, 1 silent, 2 its run has ended"},
    {"strangers", "datagrams in this board's name, not used: from another address than it is bound to"},
    {"source_changes", "times that this board was bound to another address"},
    {"mistaken_strangers", "of these strangers, those from the address that this board was bound to thereafter"},
    {"disowned", "fragments placed before another address proved to be this board's (first 1000 datagrams only)"},
}};

}  // namespace anello

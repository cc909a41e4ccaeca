// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The camera builder's lines of the ledger, exact once a run has ended:
///   datagrams    = (verdicts that are not ok) + strangers + fragments_in + markers
///   fragments_in = fragments_placed + _duplicate + _late + _ahead + _other_run + _wrong_board + _wrong_size + _dropped
///   events_out   = events_complete + events_timeout + events_pushed_out + events_run_ended
///   events_out * boards of the group = fragments_placed + fragments_missing
///   strangers    = sum of its boards' strangers;  fragments_conflicting is a part of fragments_duplicate
///   per board: announced = placed - disowned + duplicate-free losses (lost) + late + ahead + other_run + dropped, by
///   sequence
namespace anello::camera {

/// Counters of one group of boards: block "build.group<g>".
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
    fragments_conflicting,
    count
};

/// Counters of one board: block "build.board<b>".
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
    conflicting,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 26> counter_labels<camera::CameraBuildCounter>{{
    {"datagrams", "datagrams taken from the receive stage", Place::datagrams},
    {"bytes", "UDP payload of those datagrams", Place::informative, in_bytes},
    {"fragments_in", "data fragments whose header and checksum are right", Place::datagrams},
    {"markers", "start-of-run and end-of-run markers", Place::datagrams},
    {"fragments_placed", "fragments that became part of an event", Place::fragments},
    {"fragments_duplicate", "fragments dropped because their board had given the event's before", Place::fragments},
    {"fragments_late", "fragments dropped because their event had gone", Place::fragments},
    {"fragments_ahead", "fragments dropped because their event number is beyond the window and no other board confirms",
     Place::fragments},
    {"fragments_other_run", "fragments dropped because their run is over or not confirmed", Place::fragments},
    {"fragments_wrong_board", "fragments dropped because their board does not send to this port or is unknown",
     Place::fragments},
    {"fragments_wrong_size", "fragments dropped because their payload is larger than a slot", Place::fragments},
    {"fragments_dropped", "fragments dropped because no event buffer was free (policy drop_new)", Place::fragments},
    {"fragments_missing", "fragments that events went out without", Place::fragments},
    {"events_out", "events handed on", Place::events},
    {"events_complete", "events with a fragment of every board", Place::events},
    {"events_timeout", "events handed on without boards that did not come in time, or are known to be silent",
     Place::events},
    {"events_pushed_out", "events handed on incomplete because the window moved on", Place::events},
    {"events_run_ended", "events handed on incomplete because their run was over", Place::events},
    {"runs_begun", "runs begun", Place::informative},
    {"windows_moved", "jumps of the event number that several boards confirmed", Place::informative},
    {"landed_in_place", "datagrams that the kernel wrote straight into their slot", Place::informative},
    {"landed_elsewhere", "datagrams that were expected in another slot and had to be moved", Place::informative},
    {"boards_silenced", "times that the others went on without a board", Place::informative},
    {"stalls_no_buffer", "times that building waited for a free event buffer", Place::informative},
    {"strangers", "datagrams not used: they came from another address than their board is bound to", Place::datagrams},
    {"fragments_conflicting",
     "of the duplicate fragments: not the same as the one that came before, so that they are lost", Place::verdict},
}};

template <>
inline constexpr std::array<CounterLabel, 16> counter_labels<camera::CameraBoardCounter>{{
    {"placed", "fragments of this board that became part of an event", Place::fragments},
    {"duplicate", "fragments of this board that had come before", Place::fragments},
    {"late", "fragments of this board whose event had gone", Place::fragments},
    {"ahead", "fragments of this board beyond the window", Place::fragments},
    {"other_run", "fragments of this board of another run", Place::fragments},
    {"dropped", "fragments of this board that found no free event buffer", Place::fragments},
    {"missing", "events that went out without this board", Place::fragments},
    {"lost", "fragments of this board that never came, by its sequence and its end-of-run totals", Place::fragments,
     gauge},
    {"announced", "fragments that this board says it has sent (end-of-run markers)", Place::fragments},
    {"silences", "times that the others went on without this board", Place::informative},
    {"state", "0 live, 1 silent, 2 its run has ended", Place::fragments, gauge},
    {"strangers", "datagrams in this board's name, not used: from another address than it is bound to",
     Place::datagrams},
    {"source_changes", "times that this board was bound to another address", Place::informative},
    {"mistaken_strangers", "of these strangers, those from the address that this board was bound to thereafter",
     Place::datagrams},
    {"disowned", "fragments placed before another address proved to be this board's (first 1000 datagrams only)",
     Place::fragments},
    {"conflicting", "of this board's duplicates: not the same as what had come before", Place::informative},
}};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The balances of the builder. When all input is merged:
///   fragments_in = fragments_merged + fragments_late + fragments_duplicate + fragments_ahead +
///                  fragments_disowned
///   hits_in      = hits_merged + hits_late + hits_duplicate + hits_ahead + hits_disowned + hits_truncated +
///                  hits_rejected
///   events_built = events_complete + events_incomplete;  events_out = events_built - events_rejected
namespace anello::events {

enum class BuildCounter : std::uint8_t {
    blocks_in,
    fragments_in,
    fragments_merged,
    fragments_late,
    fragments_duplicate,
    hits_in,
    hits_merged,
    hits_late,
    hits_duplicate,
    hits_truncated,
    hits_rejected,
    events_built,
    events_complete,
    events_incomplete,
    events_rejected,
    events_truncated,
    events_out,
    batches_out,
    bursts_out,
    blocks_unsorted,
    boards_silenced,
    stalls_no_buffer,
    fragments_ahead,
    hits_ahead,
    fragments_disowned,
    hits_disowned,
    count
};

enum class BoardCounter : std::uint8_t {
    fragments_in,
    fragments_late,
    fragments_duplicate,
    missing,
    silences,
    state,
    fragments_ahead,
    fragments_disowned,
    count
};

/// Values of BoardCounter::state.
enum class BoardState : std::uint8_t { live, silent, ended };

}  // namespace anello::events

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 26> counter_labels<events::BuildCounter>{{
    {"blocks_in", "full blocks taken from the receive stage", Place::informative},
    {"fragments_in", "fragments in those blocks", Place::fragments},
    {"fragments_merged", "fragments that became part of an event (rejected events included)", Place::fragments},
    {"fragments_late", "fragments dropped because their event or burst had been handed on", Place::fragments},
    {"fragments_duplicate", "fragments dropped because their board's previous fragment had the same time",
     Place::fragments},
    {"hits_in", "hits in the blocks taken", Place::hits},
    {"hits_merged", "hits handed on in events", Place::hits},
    {"hits_late", "hits of late fragments", Place::hits},
    {"hits_duplicate", "hits of duplicate fragments", Place::hits},
    {"hits_truncated", "hits dropped from their event because the batch was full", Place::hits},
    {"hits_rejected", "hits of rejected events", Place::hits},
    {"events_built", "events built, complete or not", Place::events},
    {"events_complete", "events with a fragment of every board", Place::events},
    {"events_incomplete", "events that lack at least one board", Place::events},
    {"events_rejected", "incomplete events dropped by configuration", Place::events},
    {"events_truncated", "events with more hits than one batch holds", Place::informative},
    {"events_out", "events handed on", Place::informative},
    {"batches_out", "batches handed on", Place::informative},
    {"bursts_out", "bursts handed on to their end", Place::informative},
    {"blocks_unsorted", "blocks whose fragments had to be put in order", Place::informative},
    {"boards_silenced", "times that the builder stopped waiting for a silent board", Place::informative},
    {"stalls_no_buffer", "times that merging waited for a free batch buffer", Place::informative},
    {"fragments_ahead", "fragments dropped because fewer than half of the boards reached their time", Place::fragments},
    {"hits_ahead", "hits of fragments ahead", Place::hits},
    {"fragments_disowned", "fragments dropped because another address proved to be their board's", Place::fragments},
    {"hits_disowned", "hits of disowned fragments", Place::hits},
}};

template <>
inline constexpr std::array<CounterLabel, 8> counter_labels<events::BoardCounter>{{
    {"fragments_in", "fragments of this board", Place::fragments},
    {"fragments_late", "fragments of this board whose event or burst had been handed on", Place::fragments},
    {"fragments_duplicate", "fragments of this board dropped because its previous fragment had the same time",
     Place::fragments},
    {"missing", "events that lack this board", Place::fragments},
    {"silences", "times that the builder stopped waiting for this board", Place::informative},
    {"state", "0: live, 1: silent, 2: its burst has ended", Place::verdict, gauge},
    {"fragments_ahead", "fragments of this board dropped because fewer than half of the boards reached their time",
     Place::fragments},
    {"fragments_disowned", "fragments in this board's name, dropped because another address proved to be the board's",
     Place::fragments},
}};

}  // namespace anello

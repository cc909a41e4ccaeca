// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters.hpp"

/// The builder's lines of the ledger. Once all input is merged:
///   fragments_in = fragments_merged + fragments_late + fragments_duplicate + fragments_ahead
///   hits_in      = hits_merged + hits_late + hits_duplicate + hits_ahead + hits_truncated + hits_rejected
///   events_built = events_complete + events_incomplete;  events_out = events_built - events_rejected
namespace anello::build {

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
    count
};

/// What BoardCounter::state says.
enum class BoardState : std::uint8_t { live, silent, ended };

}  // namespace anello::build

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 24> counter_labels<build::BuildCounter>{{
    {"blocks_in", "full blocks taken from the receive stage"},
    {"fragments_in", "fragments in those blocks"},
    {"fragments_merged", "fragments that became part of an event (rejected events included)"},
    {"fragments_late", "fragments dropped because their event or burst had gone"},
    {"fragments_duplicate", "fragments dropped because their board had given the same time before"},
    {"hits_in", "hits in the blocks taken"},
    {"hits_merged", "hits handed on in events"},
    {"hits_late", "hits of late fragments"},
    {"hits_duplicate", "hits of duplicate fragments"},
    {"hits_truncated", "hits beyond what one batch holds, left out of their event"},
    {"hits_rejected", "hits of rejected events"},
    {"events_built", "events merged, complete or not"},
    {"events_complete", "events with a fragment of every board"},
    {"events_incomplete", "events that lack at least one board"},
    {"events_rejected", "incomplete events dropped by configuration"},
    {"events_truncated", "events with more hits than one batch holds"},
    {"events_out", "events handed on"},
    {"batches_out", "batches handed on"},
    {"bursts_out", "bursts handed on to their end"},
    {"blocks_unsorted", "blocks whose fragments had to be put in order"},
    {"boards_silenced", "times that the others went on without a board"},
    {"stalls_no_buffer", "times that merging waited for a free batch buffer"},
    {"fragments_ahead", "fragments dropped because fewer than half of the boards came as far as their time"},
    {"hits_ahead", "hits of fragments ahead"},
}};

template <>
inline constexpr std::array<CounterLabel, 7> counter_labels<build::BoardCounter>{{
    {"fragments_in", "fragments of this board"},
    {"fragments_late", "fragments of this board whose event or burst had gone"},
    {"fragments_duplicate", "fragments of this board with the same time as its last"},
    {"missing", "events that lack this board"},
    {"silences", "times that the others went on without this board"},
    {"state", "0 live, 1 silent, 2 its burst has ended"},
    {"fragments_ahead", "fragments of this board dropped because fewer than half of the boards came as far"},
}};

}  // namespace anello

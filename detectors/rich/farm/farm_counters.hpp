// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters of the RICH before and after the exchange. At the end of a run (build: the framer's block of
/// events::BuildCounter, merge: the merger's):
///   framer   build.fragments_merged = fragments + fragments_beyond_burst + fragments_of_unknown_burst +
///            fragments_before_start + fragments_after_end + fragments_no_room + fragments_left
///   merger   fragments_in = merge.fragments_merged - fragments_from_next + fragments_to_previous +
///            merge.fragments_duplicate; hits in the same way, and merge.hits_rejected, merge.hits_truncated
namespace anello::rich {

enum class FramerCounter : std::uint8_t {
    mfps,
    events,
    bytes,
    fragments,
    hits,
    fragments_overlapping,
    fragments_beyond_burst,
    fragments_of_unknown_burst,
    fragments_before_start,
    fragments_after_end,
    fragments_no_room,
    fragments_left,
    waits_for_room,
    count
};

enum class MepMergeCounter : std::uint8_t {
    meps,
    fragments_in,
    fragments_to_previous,
    fragments_from_next,
    hits_to_previous,
    hits_from_next,
    frames_malformed,
    frames_wrong_checksum,
    fragments_wrong,
    fragments_no_room,
    edges_unsure,
    count
};

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 13> counter_labels<rich::FramerCounter>{{
    {"mfps", "MFPs written into the readout unit's buffers", Place::mfps},
    {"events", "time frames in them", Place::informative},
    {"bytes", "their length", Place::informative, in_bytes},
    {"fragments", "boards' fragments in them, those that only overlap not counted", Place::fragments},
    {"hits", "hits of these", Place::informative},
    {"fragments_overlapping", "fragments that a packet's neighbour carries too, since an event may lie across the edge",
     Place::informative},
    {"fragments_beyond_burst", "fragments with a time after the last frame of their burst", Place::fragments},
    {"fragments_of_unknown_burst", "fragments of a burst before the first or far ahead", Place::fragments},
    {"fragments_before_start", "fragments of packets before the first that this node reads out, or handed on already",
     Place::fragments},
    {"fragments_after_end", "fragments of packets that are not built, because the run has ended", Place::fragments},
    {"fragments_no_room", "fragments that found no room in their packet", Place::fragments},
    {"fragments_left", "fragments of packets that nobody took when the run had ended", Place::fragments},
    {"waits_for_room", "steps that found no free buffer and waited", Place::informative},
}};

template <>
inline constexpr std::array<CounterLabel, 11> counter_labels<rich::MepMergeCounter>{{
    {"meps", "multi-event packets merged", Place::informative},
    {"fragments_in", "boards' fragments in them, those that only overlap not counted", Place::fragments},
    {"fragments_to_previous", "of these: part of an event that the packet before holds", Place::fragments},
    {"fragments_from_next", "fragments of events of this packet that lie in the next", Place::fragments},
    {"hits_to_previous", "hits of fragments_to_previous", Place::hits},
    {"hits_from_next", "hits of fragments_from_next", Place::hits},
    {"frames_malformed", "time frames with bytes that are no record", Place::fragments},
    {"frames_wrong_checksum", "time frames left out because they differ from their checksum", Place::verdict},
    {"fragments_wrong", "records of a board or time that cannot be in their packet, or out of order; left out",
     Place::fragments},
    {"fragments_no_room", "records beyond what a packet can hold; left out", Place::fragments},
    {"edges_unsure", "packets without a pause before their first event: the packet before may have merged otherwise",
     Place::fragments},
}};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The slices' lines in the ledger of a farm, exact once all is drained:
///   readout   slices_in = slices of block build = slices_packed + slices_before_start + slices_after_end + slices_left
///   builder   places = slices_out + places_empty;  parts_in = parts_joined + parts_malformed + parts_of_other
///             slices_out = slices_complete + slices_incomplete;  slices_out x DOMs = the three kinds of frames
///             hits = those of block trigger
///   farm      sum(slices_packed) = sum(parts_in) + parts in MFPs that were not built
namespace anello::km3net {

/// Of a readout unit that reads out a part of the DOMs: block "slice_pack".
enum class SlicePackCounter : std::uint8_t {
    slices_in,
    slices_packed,
    slices_before_start,
    slices_after_end,
    slices_left,
    hits,
    hits_dropped,
    mfps,
    bytes,
    waits_for_room,
    count
};

/// Of a builder unit that gives slices of all DOMs on: block "slice_unpack".
enum class SliceUnpackCounter : std::uint8_t {
    meps,
    places,
    places_empty,
    parts_in,
    parts_joined,
    parts_malformed,
    parts_of_other,
    slices_out,
    slices_complete,
    slices_incomplete,
    frames_complete,
    frames_incomplete,
    frames_absent,
    hits,
    waits_for_room,
    count
};

}  // namespace anello::km3net

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 10> counter_labels<km3net::SlicePackCounter>{{
    {"slices_in", "slices of this node's DOMs taken from the slice builder", Place::parts},
    {"slices_packed", "of these: put into a MFP", Place::parts},
    {"slices_before_start", "dropped because their multi-event packet is before the first that this unit reads out",
     Place::parts},
    {"slices_after_end", "dropped because their multi-event packet is after the last of the run", Place::parts},
    {"slices_left", "dropped because the node ended before they found room", Place::parts},
    {"hits", "hits of slices put into a MFP", Place::hits},
    {"hits_dropped", "hits of slices dropped", Place::hits},
    {"mfps", "MFPs given to the readout unit", Place::mfps},
    {"bytes", "their length", Place::informative, in_bytes},
    {"waits_for_room", "steps that found no free buffer and waited", Place::informative},
}};

template <>
inline constexpr std::array<CounterLabel, 15> counter_labels<km3net::SliceUnpackCounter>{{
    {"meps", "multi-event packets taken from the builder", Place::meps},
    {"places", "slices that these have room for", Place::frames},
    {"places_empty", "of these: no readout unit has anything that can be used", Place::frames},
    {"parts_in", "parts of slices in multi-event packets", Place::parts},
    {"parts_joined", "of these: part of a slice that was passed on", Place::parts},
    {"parts_malformed", "of these: not used, lengths or hits are wrong", Place::parts},
    {"parts_of_other", "of these: not used, of other DOMs, another slice or run than they should be", Place::parts},
    {"slices_out", "slices passed on", Place::frames},
    {"slices_complete", "of these: with a complete frame of each DOM of the line", Place::frames},
    {"slices_incomplete", "of these: without some", Place::frames},
    {"frames_complete", "frames in slices passed on that have all datagrams of their DOM", Place::frames},
    {"frames_incomplete", "frames that lack datagrams of their DOM, or its trailer", Place::frames},
    {"frames_absent", "DOMs of which slices passed on have nothing", Place::frames},
    {"hits", "hits in slices passed on", Place::hits},
    {"waits_for_room", "steps that found no free slice and waited", Place::informative},
}};

}  // namespace anello

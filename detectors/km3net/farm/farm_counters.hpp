// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "exchange/part_counters.hpp"

/// Counters of slices in the ledger of a farm, in addition to those of exchange/part_counters.hpp. A part is a slice of
/// a node's DOMs; before the exchange parts_in is called slices_in, and so on:
///   readout   slices_in = slices of block build
///   builder   slices_out = slices_complete + slices_incomplete;  slices_out x DOMs = the three kinds of frames
///             hits = those of block trigger
namespace anello::km3net {

/// Counters of a readout unit, which reads out a part of the DOMs: block "slice_pack".
enum class SlicePackCounter : std::uint8_t {
    hits = static_cast<std::uint8_t>(exchange::PackCounter::count),
    hits_dropped,
    count
};

/// Counters of a builder unit, which passes on slices of all DOMs: block "slice_unpack".
enum class SliceUnpackCounter : std::uint8_t {
    slices_out = static_cast<std::uint8_t>(exchange::UnpackCounter::count),
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
inline constexpr std::array<CounterLabel, 10> counter_labels<km3net::SlicePackCounter> = exchange::extended(
    exchange::pack_labels({"slices_in", "slices_packed", "slices_before_start", "slices_after_end", "slices_left"},
                          "slices of this node's DOMs taken from the slice builder"),
    {
        {"hits", "hits of slices put into a MFP", Place::hits},
        {"hits_dropped", "hits of slices dropped", Place::hits},
    });

template <>
inline constexpr std::array<CounterLabel, 15> counter_labels<km3net::SliceUnpackCounter> = exchange::extended(
    exchange::unpack_labels(Place::frames, "slices that these have room for"),
    {
        {"slices_out", "slices passed on", Place::frames},
        {"slices_complete", "of these: with a complete frame of each DOM of the line", Place::frames},
        {"slices_incomplete", "of these: without some", Place::frames},
        {"frames_complete", "frames in slices passed on that have all datagrams of their DOM", Place::frames},
        {"frames_incomplete", "frames that lack datagrams of their DOM, or its trailer", Place::frames},
        {"frames_absent", "DOMs of which slices passed on have nothing", Place::frames},
        {"hits", "hits in slices passed on", Place::hits},
        {"waits_for_room", "steps that found no free slice and waited", Place::informative},
    });

}  // namespace anello

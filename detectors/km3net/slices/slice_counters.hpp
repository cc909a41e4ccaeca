// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters of the boards' datagrams and of the slices made of them. At the end of a run, for each DOM:
///   datagrams = used + duplicate + conflicting + late + ahead + other_run + wrong_time + no_clock + beyond + no_room +
///               no_buffer + strangers
///   and over all DOMs: datagrams + verdicts that are not ok = those that the ports delivered
///   slices of the run x DOMs = frames_complete + frames_incomplete + frames_absent
namespace anello::km3net {

/// Counters of one DOM: block "build.board<d>".
enum class DomCounter : std::uint8_t {
    datagrams,
    used,
    duplicate,
    conflicting,
    late,
    ahead,
    other_run,
    wrong_time,
    no_clock,
    beyond,
    no_room,
    no_buffer,
    strangers,
    source_changes,
    hits,
    frames_complete,
    frames_incomplete,
    frames_absent,
    missing,
    silences,
    silent,
    count
};

/// Counters of all DOMs together: block "build".
enum class SliceCounter : std::uint8_t { slices, slices_complete, slices_incomplete, slices_missing, hits, count };

}  // namespace anello::km3net

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 21> counter_labels<km3net::DomCounter>{{
    {"datagrams", "well-formed datagrams in the name of this DOM", Place::datagrams},
    {"used", "datagrams placed in a slice, trailers included", Place::datagrams},
    {"duplicate", "datagrams that the slice has already", Place::datagrams},
    {"conflicting", "datagrams of a sequence number that the slice has already, with other hits", Place::datagrams},
    {"late", "datagrams of a slice that had been passed on", Place::datagrams},
    {"ahead", "datagrams of slices that fewer than half of the DOMs have come near", Place::datagrams},
    {"other_run", "datagrams of another run", Place::datagrams},
    {"wrong_time", "datagrams whose time is not the begin of a slice", Place::datagrams},
    {"no_clock", "datagrams that say that this DOM's clock is not valid", Place::datagrams},
    {"beyond", "datagrams of a sequence number that no slice can have", Place::datagrams},
    {"no_room", "datagrams whose hits found no room in the slice", Place::datagrams},
    {"no_buffer", "datagrams whose slice found no free buffer", Place::datagrams},
    {"strangers", "datagrams in the name of this DOM from another address", Place::datagrams},
    {"source_changes", "times that another address became this DOM's", Place::informative},
    {"hits", "hits in used datagrams", Place::hits},
    {"frames_complete", "slices that have all datagrams of this DOM", Place::frames},
    {"frames_incomplete", "slices that lack datagrams of this DOM, or its trailer", Place::frames},
    {"frames_absent", "slices without a datagram of this DOM", Place::frames},
    {"missing", "sequence numbers passed over in slices that were passed on", Place::informative},
    {"silences", "times that this DOM fell silent", Place::verdict},
    {"silent", "1: it is, after it spoke", Place::informative, gauge},
}};

template <>
inline constexpr std::array<CounterLabel, 5> counter_labels<km3net::SliceCounter>{{
    {"slices", "slices passed on", Place::frames},
    {"slices_complete", "slices passed on with a complete frame of each DOM", Place::frames},
    {"slices_incomplete", "slices passed on that lack something", Place::frames},
    {"slices_missing", "slices between two others that no DOM sent anything of", Place::informative},
    {"hits", "hits in slices passed on", Place::hits},
}};

}  // namespace anello

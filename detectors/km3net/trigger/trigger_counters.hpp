// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters of the stage trigger: block "trigger". Hits of the slices = hits_used + hits_continued + hits_rejected;
/// frames with data = frames_used + the three kinds of rejected frames.
namespace anello::km3net {

enum class TriggerCounter : std::uint8_t {
    slices,
    frames_used,
    frames_incomplete,
    frames_out_of_range,
    frames_out_of_order,
    hits_used,
    hits_continued,
    hits_rejected,
    l1_different_pmts,
    l1_any_pmts,
    l2,
    supernova,
    l1_not_looked_at,
    events,
    events_over_limit,
    events_overlaid,
    samples_dropped,
    count
};

}  // namespace anello::km3net

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 17> counter_labels<km3net::TriggerCounter>{{
    {"slices", "slices looked at", Place::frames},
    {"frames_used", "frames whose hits were looked at", Place::frames},
    {"frames_incomplete", "frames rejected: datagrams or the trailer are missing", Place::frames},
    {"frames_out_of_range", "frames rejected: a hit later than 105 ms", Place::frames},
    {"frames_out_of_order", "frames rejected: times of a channel fall", Place::frames},
    {"hits_used", "hits of used frames, long pulses once", Place::hits},
    {"hits_continued", "hits of used frames that were the rest of a long pulse", Place::hits},
    {"hits_rejected", "hits of rejected frames", Place::hits},
    {"l1_different_pmts", "L1: two or more PMTs of a DOM within coincidences.l1_ns", Place::informative},
    {"l1_any_pmts", "the same, with hits of one PMT too", Place::informative},
    {"l2", "L2: two PMTs of a DOM within coincidences.l2_ns that look to one side", Place::informative},
    {"supernova", "hits on coincidences.sn_pmts or more PMTs of a DOM within coincidences.l2_ns", Place::informative},
    {"l1_not_looked_at", "L1 of a slice beyond the most that are looked at for events", Place::verdict},
    {"events", "events: L1 of several DOMs that a muon can have made", Place::records},
    {"events_over_limit", "events because there were more L1 than coincidences.limit", Place::informative},
    {"events_overlaid", "events found again from a later hit, and joined", Place::informative},
    {"samples_dropped", "events not shown: nobody took those before", Place::informative},
}};

}  // namespace anello

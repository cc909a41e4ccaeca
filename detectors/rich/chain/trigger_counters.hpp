// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters of the trigger. At the end of a run:
///   events = events built and passed on by the builder; events = the sum of events_with_*_rings, and events_passed
///   events = events_in_full + events_cheaper + events_passed
///   hits_in_time + hits_out_of_time + hits_unknown + hits_passed = hits passed on by the builder
namespace anello::rich {

enum class TriggerCounter : std::uint8_t {
    batches,
    events,
    events_with_0_rings,
    events_with_1_ring,
    events_with_2_rings,
    events_with_3_rings,
    events_with_4_rings,
    events_with_more_rings,
    events_in_full,
    events_cheaper,
    events_passed,
    rings,
    rings_dropped,
    primitives,
    hits_in_time,
    hits_out_of_time,
    hits_unknown,
    hits_passed,
    events_hits_truncated,
    events_rings_truncated,
    events_search_cut,
    deadline_misses,
    plugin_failed_batches,
    plugin_invalid_counts,
    plugin_invalid_rings,
    plugin_invalid_primitives,
    cuda_batches,
    cuda_failures,
    count
};

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 28> counter_labels<rich::TriggerCounter>{{
    {"batches", "batches decided", Place::records},
    {"events", "events decided", Place::decisions},
    {"events_with_0_rings", "events without a ring", Place::decisions},
    {"events_with_1_ring", "events with one ring", Place::decisions},
    {"events_with_2_rings", "events with two rings", Place::decisions},
    {"events_with_3_rings", "events with three rings", Place::decisions},
    {"events_with_4_rings", "events with four rings", Place::decisions},
    {"events_with_more_rings", "events with five to eight rings", Place::decisions},
    {"events_in_full", "events decided as configured", Place::decisions},
    {"events_cheaper", "events decided by a cheaper finder, since they were older than trigger.cheaper_after",
     Place::decisions},
    {"events_passed", "events that passed without a look, since they were older than trigger.pass_after",
     Place::decisions},
    {"rings", "rings found, and not dropped", Place::informative},
    {"rings_dropped", "rings found, and dropped by trigger.min_likelihood_ratio or min_assigned_hits",
     Place::informative},
    {"primitives", "events whose decision is a primitive", Place::decisions},
    {"hits_in_time", "hits used", Place::hits},
    {"hits_out_of_time", "hits outside the in-time window", Place::hits},
    {"hits_unknown", "hits whose id has no position", Place::hits},
    {"hits_passed", "hits of events that passed without a look", Place::hits},
    {"events_hits_truncated", "events with more in-time hits than the finder takes (64)", Place::informative},
    {"events_rings_truncated", "events with more rings than a decision holds (8)", Place::informative},
    {"events_search_cut", "events whose search for rings ended at trigger.multiring.max_work, with the best so far",
     Place::informative},
    {"deadline_misses", "events decided, or emitted, later than trigger.deadline_us after they were",
     Place::informative},
    {"plugin_failed_batches", "batches for which the plugin failed: decided without rings", Place::verdict},
    {"plugin_invalid_counts", "events for which the plugin gave more rings than a decision holds (8)",
     Place::informative},
    {"plugin_invalid_rings", "rings of the plugin that are NaN, infinite or absurd: left out", Place::informative},
    {"plugin_invalid_primitives", "primitive ids of the plugin that are none: chosen by the number of rings",
     Place::informative},
    {"cuda_batches", "batches whose rings a CUDA device found", Place::informative},
    {"cuda_failures", "batches that the CUDA device failed to do: the processor found their rings", Place::informative},
}};

}  // namespace anello

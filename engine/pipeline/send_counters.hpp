// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The balance of the sending stage: events_in = events_kept + events_filtered.
namespace anello::pipeline {

enum class SendCounter : std::uint8_t { events_in, bytes_in, events_kept, events_filtered, images_dropped, count };

}  // namespace anello::pipeline

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 5> counter_labels<pipeline::SendCounter>{{
    {"events_in", "events taken from the builder", Place::events},
    {"bytes_in", "bytes of data in them", Place::informative, in_bytes},
    {"events_kept", "events accepted by the filter; without a filter all events", Place::events},
    {"events_filtered", "events rejected by the filter", Place::events},
    {"images_dropped", "images for the display that were not taken", Place::informative},
}};

}  // namespace anello

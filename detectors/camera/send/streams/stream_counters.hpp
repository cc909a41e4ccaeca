// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Once closed: events_in = events_sent + dropped_queue_full + dropped_not_connected + lost_disconnected + lost_at_end
namespace anello::camera {

enum class CameraStreamCounter : std::uint8_t {
    events_in,
    events_sent,
    dropped_queue_full,
    dropped_not_connected,
    lost_disconnected,
    lost_at_end,
    bytes_sent,
    connections,
    connection_failures,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 9> counter_labels<camera::CameraStreamCounter>{{
    {"events_in", "records offered to the stream", Place::events},
    {"events_sent", "records that the system took whole", Place::events},
    {"dropped_queue_full", "records dropped because the receiver is slower than they come", Place::events},
    {"dropped_not_connected", "records dropped because nobody received", Place::events},
    {"lost_disconnected", "records that waited, or were half sent, when the connection broke", Place::events},
    {"lost_at_end", "records that still waited at the end", Place::events},
    {"bytes_sent", "bytes that the system took, lengths included", Place::informative, in_bytes},
    {"connections", "connections made", Place::informative},
    {"connection_failures", "attempts to connect that failed", Place::informative},
}};

}  // namespace anello

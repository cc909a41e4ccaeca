// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters of the stage store: block "store". At the end of a run, 2 messages x slices + events =
///   written + without_room + lost
namespace anello::km3net {

enum class MessageCounter : std::uint8_t { written, without_room, lost, bytes_written, refusing, count };

}  // namespace anello::km3net

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 5> counter_labels<km3net::MessageCounter>{{
    {"written", "messages written to the file", Place::records},
    {"without_room", "messages longer than the memory of a slice's messages: not written", Place::records},
    {"lost", "messages not written because the file refused", Place::records},
    {"bytes_written", "length of its files", Place::informative, in_bytes},
    {"refusing", "1 while the file takes nothing, as on a full disk", Place::informative, gauge},
}};

}  // namespace anello

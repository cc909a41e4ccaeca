// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters of the emitter. After the last burst has ended:
///   primitives_in = primitives + primitives_late + primitives_overflow + primitives_invalid
///   frames = frames_sent + frames_lost
namespace anello::rich {

enum class EmitCounter : std::uint8_t {
    decisions,
    primitives_in,
    primitives,
    primitives_late,
    primitives_overflow,
    primitives_invalid,
    frames,
    frames_empty,
    frames_sent,
    frames_lost,
    frames_skipped,
    bytes_sent,
    sends,
    errors_full,
    errors_refused,
    errors_other,
    count
};

enum class ListenCounter : std::uint8_t {
    datagrams,
    bytes,
    frames,
    frames_empty,
    frames_missing,
    frames_out_of_order,
    primitives,
    bursts,
    receive_errors,
    count
};

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 16> counter_labels<rich::EmitCounter>{{
    {"decisions", "decisions seen", Place::informative},
    {"primitives_in", "decisions with a primitive", Place::decisions},
    {"primitives", "primitives written into a frame", Place::decisions},
    {"primitives_late", "primitives left out: their frame was closed, or an earlier time within it", Place::decisions},
    {"primitives_overflow", "primitives left out: their frame held 255", Place::decisions},
    {"primitives_invalid", "primitives left out: ids 1 to 255 cannot be written", Place::decisions},
    {"frames", "frames written, one per 6.4 us of detector time", Place::frames},
    {"frames_empty", "frames without a primitive, counted in `frames`, too", Place::informative},
    {"frames_sent", "frames that the system took", Place::frames},
    {"frames_lost", "frames that the system did not take", Place::frames},
    {"frames_skipped", "frames not written because detector time jumped too far", Place::informative},
    {"bytes_sent", "UDP payload that the system took", Place::informative, in_bytes},
    {"sends", "system calls that sent", Place::informative},
    {"errors_full", "sends refused for lack of socket buffer", Place::informative},
    {"errors_refused", "times that the far end said nobody listens", Place::informative},
    {"errors_other", "sends refused for another cause", Place::informative},
}};

template <>
inline constexpr std::array<CounterLabel, 9> counter_labels<rich::ListenCounter>{{
    {"datagrams", "datagrams received", Place::informative},
    {"bytes", "UDP payload received", Place::informative, in_bytes},
    {"frames", "frames that passed every check", Place::informative},
    {"frames_empty", "frames without a primitive, counted in `frames`, too", Place::informative},
    {"frames_missing", "frames that never came, by the gaps between those that did", Place::informative},
    {"frames_out_of_order", "frames repeated, or earlier than the last one", Place::informative},
    {"primitives", "primitives in the frames", Place::informative},
    {"bursts", "bursts seen to begin", Place::informative},
    {"receive_errors", "system errors while receiving", Place::informative},
}};

}  // namespace anello

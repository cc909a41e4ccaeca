// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters.hpp"

/// The emitter's lines of the ledger, once the last burst has ended:
///   primitives_in = primitives + primitives_late + primitives_overflow + primitives_invalid
///   frames = frames_sent + frames_lost
namespace anello::emit {

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

}  // namespace anello::emit

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 16> counter_labels<emit::EmitCounter>{{
    {"decisions", "decisions seen"},
    {"primitives_in", "decisions with a primitive"},
    {"primitives", "primitives written into a frame"},
    {"primitives_late", "primitives left out: their frame was closed, or an earlier time within it"},
    {"primitives_overflow", "primitives left out: their frame held 255"},
    {"primitives_invalid", "primitives left out: ids 1 to 255 cannot be written"},
    {"frames", "frames written, one per 6.4 us of detector time"},
    {"frames_empty", "of these, frames without a primitive"},
    {"frames_sent", "frames that the system took"},
    {"frames_lost", "frames that the system did not take"},
    {"frames_skipped", "frames not written because detector time jumped too far"},
    {"bytes_sent", "UDP payload that the system took"},
    {"sends", "system calls that sent"},
    {"errors_full", "sends refused for lack of socket buffer"},
    {"errors_refused", "times that the far end said nobody listens"},
    {"errors_other", "sends refused for another cause"},
}};

template <>
inline constexpr std::array<CounterLabel, 9> counter_labels<emit::ListenCounter>{{
    {"datagrams", "datagrams received"},
    {"bytes", "UDP payload received"},
    {"frames", "frames that passed every check"},
    {"frames_empty", "of these, frames without a primitive"},
    {"frames_missing", "frames that never came, by the gaps between those that did"},
    {"frames_out_of_order", "frames repeated or behind the last one"},
    {"primitives", "primitives in the frames"},
    {"bursts", "bursts seen to begin"},
    {"receive_errors", "system errors while receiving"},
}};

}  // namespace anello

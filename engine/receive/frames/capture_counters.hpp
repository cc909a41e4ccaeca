// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Frames of a capture file for a node's ports that the node could not use: block "receive.capture". A frame without a
/// readable port may have been for one of them, and counts.
namespace anello::receive {

enum class CaptureCounter : std::uint8_t {
    frames,
    ip6,
    ip_fragments,
    cut_short,
    malformed,
    read_errors,
    pauses_left_out,
    count
};

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 7> counter_labels<receive::CaptureCounter>{{
    {"frames", "frames read", Place::informative},
    {"ip6", "UDP datagrams over IPv6 to the node's ports, not used", Place::verdict},
    {"ip_fragments", "fragments of UDP datagrams, not used", Place::verdict},
    {"cut_short", "datagrams of which the capture kept only the start (snap length), not used", Place::verdict},
    {"malformed", "frames whose lengths contradict each other, not used", Place::verdict},
    {"read_errors", "1: the file could not be read to its end", Place::verdict},
    {"pauses_left_out", "pauses between frames that were too long and were skipped", Place::informative},
}};

}  // namespace anello

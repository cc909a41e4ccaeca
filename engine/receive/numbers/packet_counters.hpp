// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/counters/counters.hpp"

/// Of one board that numbers its packets: block "receive.board<b>"; the verdicts on all datagrams are
/// "receive.verdict".
///   verdict ok = packets of all boards
///   packets = used + duplicates + conflicting + strays + strangers
namespace anello::receive {

enum class PacketCounter : std::uint8_t {
    packets,
    used,
    duplicates,
    conflicting,
    strays,
    strangers,
    disowned,
    source_changes,
    count
};

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 8> counter_labels<receive::PacketCounter>{{
    {"packets", "well-formed packets in the name of this board", Place::datagrams},
    {"used", "packets handed on", Place::datagrams},
    {"duplicates", "packets that came again, with the same bytes", Place::datagrams},
    {"conflicting", "packets of a number that had been used, with other bytes", Place::datagrams},
    {"strays", "packets far from the board's number, which no second one confirmed", Place::datagrams},
    {"strangers", "packets in the name of this board from another address", Place::datagrams},
    {"disowned", "packets used of an address that turned out not to be the board's", Place::datagrams},
    {"source_changes", "times that another address became this board's", Place::informative},
}};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/counters/counters.hpp"

/// For one board that numbers its packets: block "receive.board<b>". Block "receive.verdict" has the verdicts of all
/// datagrams.
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
    {"packets", "valid packets of this board", Place::datagrams},
    {"used", "packets handed on", Place::datagrams},
    {"duplicates", "repeated packets with the same bytes", Place::datagrams},
    {"conflicting", "packets with a number already used, and other bytes", Place::datagrams},
    {"strays", "packets with a number far off that no second packet has confirmed", Place::datagrams},
    {"strangers", "packets of this board from another address", Place::datagrams},
    {"disowned", "packets used from an address that turned out not to be the board's", Place::datagrams},
    {"source_changes", "times that another address became this board's", Place::informative},
}};

}  // namespace anello

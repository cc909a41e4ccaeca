// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// What a card's list has lost, and what the sequence numbers of its packets show: block "card.port<p>.losses". A card
/// belongs to a user's program, so no ledger reads it:
///   datagrams (card.port<p>) = datagrams taken + blocks_dropped + overwritten
///   numbered = in_order + late + duplicates + strays + restarts + untracked
namespace anello::receive {

enum class CardCounter : std::uint8_t {
    overwritten,
    numbered,
    in_order,
    late,
    duplicates,
    strays,
    restarts,
    untracked,
    lost,
    sources,
    count
};

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 10> counter_labels<receive::CardCounter>{{
    {"overwritten", "datagrams in buffers that were overwritten before the program took them", Place::informative},
    {"numbered", "packets taken that have a sequence number", Place::informative},
    {"in_order", "numbered packets with the next number, or one after a gap", Place::informative},
    {"late", "numbered packets with a number that had been missing", Place::informative},
    {"duplicates", "numbered packets with a number that had arrived before", Place::informative},
    {"strays", "numbered packets with a number far off that no second packet has confirmed", Place::informative},
    {"restarts", "numbered packets with which their source restarted", Place::informative},
    {"untracked", "numbered packets of sources beyond max_sources", Place::informative},
    {"lost", "numbers passed over that have not arrived so far", Place::informative, gauge},
    {"sources", "sources of numbered packets", Place::informative},
}};

}  // namespace anello

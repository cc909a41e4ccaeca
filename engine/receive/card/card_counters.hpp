// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// What a card's list lost, and what the numbers of its packets say: block "card.port<p>.losses". A card belongs to a
/// program, and no ledger reads it:
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
    {"overwritten", "datagrams of buffers that were overwritten before the program took them", Place::informative},
    {"numbered", "packets taken that have a number of their source", Place::informative},
    {"in_order", "of these, with the next number, or one beyond a gap", Place::informative},
    {"late", "of these, with a number that had been missing", Place::informative},
    {"duplicates", "of these, with a number that had come before", Place::informative},
    {"strays", "of these, far from their source's number, which no second one confirmed", Place::informative},
    {"restarts", "of these, with which their source began anew", Place::informative},
    {"untracked", "of these, of sources beyond max_sources", Place::informative},
    {"lost", "numbers passed over that the program did not get, by now", Place::informative, gauge},
    {"sources", "sources of numbered packets", Place::informative},
}};

}  // namespace anello

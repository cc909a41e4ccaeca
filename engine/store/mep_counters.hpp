// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The balance, once closed: meps_taken = meps_written + meps_lost.
namespace anello::store {

enum class MepStoreCounter : std::uint8_t {
    meps_taken,
    meps_written,
    events_written,
    bytes_written,
    meps_lost,
    refusing,
    count
};

}  // namespace anello::store

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 6> counter_labels<store::MepStoreCounter>{{
    {"meps_taken", "multi-event packets taken from the builder", Place::meps},
    {"meps_written", "of these: written whole", Place::meps},
    {"events_written", "events in them", Place::informative},
    {"bytes_written", "length of its files", Place::informative, in_bytes},
    {"meps_lost", "of meps_taken: not written because the file refused", Place::meps},
    {"refusing", "1 while the file takes nothing, as on a full disk", Place::informative, gauge},
}};

}  // namespace anello

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
    {"meps_written", "part of meps_taken: written completely", Place::meps},
    {"events_written", "events in the written multi-event packets", Place::informative},
    {"bytes_written", "length of the files", Place::informative, in_bytes},
    {"meps_lost", "part of meps_taken: not written because the file refused them", Place::meps},
    {"refusing", "1 while the file refuses data, for example because the disk is full", Place::informative, gauge},
}};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Counters that each detector has for its parts of events before and after the exchange. Its own tables begin with
/// these (extended()), and its ledger has these lines, which balance once all is drained:
///   readout   parts_in = parts_packed + parts_before_start + parts_after_end + parts_left + the detector's own causes
///             mfps = mfps_taken of block readout
///   builder   meps = meps_complete + meps_incomplete of block builder
///             places = places_empty + events handed on;  parts_in = parts_joined + parts_malformed + parts_of_other
///   farm      sum(parts_packed) = sum(parts_in of builders) + parts in MFPs that were not built
namespace anello::exchange {

/// Counters of an MfpPacker.
enum class PackCounter : std::uint8_t {
    parts_in,
    parts_packed,
    parts_before_start,
    parts_after_end,
    parts_left,
    mfps,
    bytes,
    waits_for_room,
    count
};

/// Counters of a MepReader.
enum class UnpackCounter : std::uint8_t {
    meps,
    places,
    places_empty,
    parts_in,
    parts_joined,
    parts_malformed,
    parts_of_other,
    count
};

/// names: the detector's names for parts_in to parts_left; parts_in: meaning of that counter.
constexpr std::array<CounterLabel, 8> pack_labels(const std::array<const char*, 5>& names, const char* parts_in) {
    return {{
        {names[0], parts_in, Place::parts},
        {names[1], "of these: put into a MFP", Place::parts},
        {names[2], "dropped because their multi-event packet is before the first that this unit reads out",
         Place::parts},
        {names[3], "dropped because their multi-event packet is after the last of the run", Place::parts},
        {names[4], "dropped because the node ended before they found room", Place::parts},
        {"mfps", "MFPs given to the readout unit", Place::mfps},
        {"bytes", "their length", Place::informative, in_bytes},
        {"waits_for_room", "steps that found no free buffer and waited", Place::informative},
    }};
}

/// event: the balance of what the detector makes of a place; places: what a place is.
constexpr std::array<CounterLabel, 7> unpack_labels(Place event, const char* places) {
    return {{
        {"meps", "multi-event packets taken from the builder", Place::meps},
        {"places", places, event},
        {"places_empty", "of these: no readout unit has anything that can be used", event},
        {"parts_in", "parts of events in multi-event packets", Place::parts},
        {"parts_joined", "of these: part of an event that was handed on", Place::parts},
        {"parts_malformed", "of these: not used, what they say of themselves is wrong", Place::parts},
        {"parts_of_other", "of these: not used, of other boards, another event or run than they should be",
         Place::parts},
    }};
}

/// The labels of a detector's table. The first value of its Enum equals the count of the Enum that these labels are of.
template <std::size_t N, std::size_t M>
constexpr std::array<CounterLabel, N + M> extended(const std::array<CounterLabel, N>& labels,
                                                   const CounterLabel (&own)[M]) {
    std::array<CounterLabel, N + M> all{};
    std::ranges::copy(own, std::ranges::copy(labels, all.begin()).out);
    return all;
}

/// Access to a detector's counters by the table above, with which its own table begins.
template <CounterEnum Base, CounterEnum Own>
Counters<Base> base_of(const Counters<Own>& counters) noexcept {
    static_assert(counter_labels<Base>.size() < counter_labels<Own>.size());
    return std::bit_cast<Counters<Base>>(counters);  // the first cell is the same for both tables
}

}  // namespace anello::exchange

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 8> counter_labels<exchange::PackCounter> = exchange::pack_labels(
    {"parts_in", "parts_packed", "parts_before_start", "parts_after_end", "parts_left"}, "parts of events to pack");

template <>
inline constexpr std::array<CounterLabel, 7> counter_labels<exchange::UnpackCounter> =
    exchange::unpack_labels(Place::events, "events that these have room for");

}  // namespace anello

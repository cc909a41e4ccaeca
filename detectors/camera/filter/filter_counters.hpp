// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The camera filter's lines of the ledger, block "filter":
///   events_in       = events_kept + events_rejected
///   events_kept     = kept_unfiltered + kept_by_signal + kept_by_fraction + kept_by_prescale + kept_incomplete
///                     + kept_calibration
///   events_rejected = rejected_no_signal + rejected_incomplete
namespace anello::camera {

enum class FilterCounter : std::uint8_t {
    events_in,
    events_kept,
    events_rejected,
    kept_unfiltered,
    kept_by_signal,
    kept_by_fraction,
    kept_by_prescale,
    kept_incomplete,
    kept_calibration,
    rejected_no_signal,
    rejected_incomplete,
    boards_missing,
    boards_wrong_shape,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 13> counter_labels<camera::FilterCounter>{{
    {"events_in", "events that came to the filter", Place::events},
    {"events_kept", "events handed on", Place::events},
    {"events_rejected", "events that end here", Place::events},
    {"kept_unfiltered", "events kept because the filter is off", Place::events},
    {"kept_by_signal", "events kept for their charge and neighbouring pixels", Place::events},
    {"kept_by_fraction", "events without signal kept because their number was drawn", Place::events},
    {"kept_by_prescale", "events without signal kept by the prescale", Place::events},
    {"kept_incomplete", "events with missing boards kept because all such are (incomplete = keep)", Place::events},
    {"kept_calibration", "pedestals, flat fields and single photo-electrons, kept for their trigger tag",
     Place::events},
    {"rejected_no_signal", "events rejected for lack of charge or neighbouring pixels", Place::events},
    {"rejected_incomplete", "events with missing boards rejected because all such are (incomplete = reject)",
     Place::events},
    {"boards_missing", "boards that an event was judged without", Place::informative},
    {"boards_wrong_shape", "boards left out of the judgement because their waveforms have another shape",
     Place::informative},
}};

}  // namespace anello

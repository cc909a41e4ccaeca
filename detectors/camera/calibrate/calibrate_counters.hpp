// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Block "calibrate", which exists only if events are calibrated:
///   boards_in = boards_calibrated + boards_without_cells + boards_wrong_cells + boards_other_shape
namespace anello::camera {

enum class CalibrateCounter : std::uint8_t {
    events_in,
    boards_in,
    boards_calibrated,
    boards_without_cells,
    boards_wrong_cells,
    boards_other_shape,
    count
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 6> counter_labels<camera::CalibrateCounter>{{
    {"events_in", "events that came to be calibrated", Place::informative},
    {"boards_in", "boards of them", Place::informative},
    {"boards_calibrated", "boards whose samples were corrected", Place::informative},
    {"boards_without_cells", "boards not corrected because they do not say which cells they read", Place::informative},
    {"boards_wrong_cells", "boards not corrected because they name cells that do not exist", Place::informative},
    {"boards_other_shape", "boards not corrected because their waveforms have another shape", Place::informative},
}};

}  // namespace anello

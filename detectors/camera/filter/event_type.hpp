// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "camera/wire/camera.hpp"

namespace anello::camera {

/// Type of an event, with the numbers of ctapipe's EventType.
enum class EventType : std::uint8_t { flat_field = 0, single_pe = 1, sky_pedestal = 2, shower = 32 };

/// Returns the type for a trigger tag, as ctapipe_io_lst 0.31.1 does: the flash of a flat field may also trigger the
/// camera by itself; an event with any other tag is a shower.
constexpr EventType event_type(std::uint8_t trigger_tag) noexcept {
    namespace wire = wire::camera;
    switch (trigger_tag) {
        case wire::tag_calibration:
        case wire::tag_calibration | wire::tag_mono:
            return EventType::flat_field;
        case wire::tag_single_pe:
            return EventType::single_pe;
        case wire::tag_pedestal:
            return EventType::sky_pedestal;
        default:
            return EventType::shower;
    }
}

constexpr bool is_calibration(std::uint8_t trigger_tag) noexcept {
    return event_type(trigger_tag) != EventType::shower;
}

}  // namespace anello::camera

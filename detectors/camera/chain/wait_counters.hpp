// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// Block "waits": how often the camera's filter had to wait. Events then stay with the builders; if these have no free
/// buffer left, datagrams stay in the kernel.
namespace anello::camera {

enum class CameraWaitCounter : std::uint8_t { for_pixels, for_sender, count };

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 2> counter_labels<camera::CameraWaitCounter>{{
    {"for_pixels", "times that whole events waited as the threads that look at pixels had enough to do",
     Place::informative},
    {"for_sender", "times that a kept event waited as enough were on their way to file, stream and subscribers",
     Place::informative},
}};

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#include "camera/filter/pixel_backend.hpp"
#include "camera/filter/pulse.kernel.hpp"
#include "camera/filter/sample_lanes.hpp"

namespace anello::camera {

void find_pulses_scalar(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept {
    static_assert(min_samples_scalar == ScalarSampleLanes::width + 2);
    find_pulses<ScalarSampleLanes>(rule, samples, pulses);
}

}  // namespace anello::camera

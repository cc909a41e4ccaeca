// SPDX-License-Identifier: Apache-2.0
#include "camera/filter/pixel_backend.hpp"
#include "camera/filter/pulse.kernel.hpp"
#include "camera/filter/sample_lanes.hpp"

namespace anello::camera {

void find_pulses_avx2(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept {
    static_assert(min_samples_avx2 == Avx2SampleLanes::width + 2);
    find_pulses<Avx2SampleLanes>(rule, samples, pulses);
}

}  // namespace anello::camera

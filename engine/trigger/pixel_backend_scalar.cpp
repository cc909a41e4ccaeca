// SPDX-License-Identifier: Apache-2.0
#include "trigger/pixel_backend.hpp"
#include "trigger/pulse.kernel.hpp"
#include "trigger/sample_lanes.hpp"

namespace anello::trigger {

void find_pulses_scalar(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept {
    static_assert(min_samples_scalar == ScalarSampleLanes::width + 2);
    find_pulses<ScalarSampleLanes>(rule, samples, pulses);
}

}  // namespace anello::trigger

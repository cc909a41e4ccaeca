// SPDX-License-Identifier: Apache-2.0
#include "trigger/pixel_backend.hpp"
#include "trigger/pulse.kernel.hpp"
#include "trigger/sample_lanes.hpp"

namespace anello::trigger {

void find_pulses_avx2(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept {
    static_assert(min_samples_avx2 == Avx2SampleLanes::width + 2);
    find_pulses<Avx2SampleLanes>(rule, samples, pulses);
}

}  // namespace anello::trigger

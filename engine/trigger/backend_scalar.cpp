// SPDX-License-Identifier: Apache-2.0
#include "trigger/backend.hpp"
#include "trigger/find_rings.kernel.hpp"
#include "trigger/lanes_scalar.hpp"

namespace anello::trigger {

void find_rings_scalar(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept {
    find_rings<ScalarLanes>(config, hits, rings);
}

}  // namespace anello::trigger

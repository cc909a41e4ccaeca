// SPDX-License-Identifier: Apache-2.0
#include "trigger/backend.hpp"
#include "trigger/find_rings.kernel.hpp"
#include "trigger/lanes_sse42.hpp"

namespace anello::trigger {

void find_rings_sse42(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept {
    find_rings<Sse42Lanes>(config, hits, rings);
}

}  // namespace anello::trigger

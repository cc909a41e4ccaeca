// SPDX-License-Identifier: Apache-2.0
#include "trigger/backend.hpp"
#include "trigger/find_rings.kernel.hpp"
#include "trigger/lanes_avx2.hpp"

namespace anello::trigger {

void find_rings_avx2(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept {
    find_rings<Avx2Lanes>(config, hits, rings);
}

}  // namespace anello::trigger

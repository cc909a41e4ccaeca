// SPDX-License-Identifier: Apache-2.0
#include "rich/rings/backend.hpp"
#include "rich/rings/kernels/find_rings.kernel.hpp"
#include "rich/rings/lanes/lanes_sse42.hpp"

namespace anello::rich {

void find_rings_sse42(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept {
    find_rings<Sse42Lanes>(config, hits, rings);
}

}  // namespace anello::rich

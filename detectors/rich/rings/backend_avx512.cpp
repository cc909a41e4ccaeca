// SPDX-License-Identifier: Apache-2.0
#include "rich/rings/backend.hpp"
#include "rich/rings/kernels/find_rings.kernel.hpp"
#include "rich/rings/lanes/lanes_avx512.hpp"

namespace anello::rich {

void find_rings_avx512(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept {
    find_rings<Avx512Lanes>(config, hits, rings);
}

}  // namespace anello::rich

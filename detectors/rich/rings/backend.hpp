// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/ring_finder.hpp"

/// Entry points of the ring finders, one per instruction set and compiled with its flags. Call only available ones.
namespace anello::rich {

void find_rings_scalar(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;
void find_rings_sse42(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;
void find_rings_avx2(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;
void find_rings_avx512(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;

}  // namespace anello::rich

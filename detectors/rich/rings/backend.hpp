// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/ring_finder.hpp"

/// One entry per instruction set; each is compiled with its own flags. Only call one whose ISA is_available().
namespace anello::rich {

void find_rings_scalar(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;
void find_rings_sse42(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;
void find_rings_avx2(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;
void find_rings_avx512(const RingFinderConfig& config, const HitsView& hits, EventRings* rings) noexcept;

}  // namespace anello::rich

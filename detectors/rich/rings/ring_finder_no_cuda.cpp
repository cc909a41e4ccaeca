// SPDX-License-Identifier: Apache-2.0
#if !defined(ANELLO_WITH_CUDA)

#include "core/errors.hpp"
#include "memory/pinned_cuda.hpp"
#include "rich/rings/ring_finder_cuda.hpp"

namespace anello::rich {

class CudaRingFinder::Device {};

std::string CudaRingFinder::unavailable_reason() {
    return memory::cuda_unavailable_reason();
}

CudaRingFinder::CudaRingFinder(const RingFinderConfig&, std::uint32_t, std::uint32_t, const Placement&) {
    throw ConfigError("trigger.backend", "must be one that can be used here", "cuda: " + unavailable_reason(),
                      "Use cpu or auto, or see docs/how-to/gpu.md.");
}

CudaRingFinder::~CudaRingFinder() = default;

bool CudaRingFinder::find(const HitsView&, EventRings*) noexcept {
    return false;
}

std::uint32_t CudaRingFinder::max_under_way() const noexcept {
    return 0;
}

bool CudaRingFinder::send(const HitIdsView&) noexcept {
    return false;
}

bool CudaRingFinder::collect(EventRings*, PlacedHits&) noexcept {
    return false;
}

BatchFinder::Room CudaRingFinder::room() noexcept {
    return {};
}

std::string_view CudaRingFinder::device_name() const noexcept {
    return {};
}

}  // namespace anello::rich

#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "rich/rings/ring_finder.hpp"

/// What the host and the device side of the CUDA backend share.
namespace anello::rich::cuda {

/// At the head of a batch's results; zero before the kernels run.
struct alignas(16) Tally {
    std::uint32_t n_waiting;  ///< events left to the second tier
    std::uint32_t n_taken;    ///< of these, taken by a team
    std::uint32_t n_rings;
};

/// One per event: its rings stand at [first, first + n_rings) of all rings, which lie in no order of events.
struct EventResult {
    std::uint32_t first;
    std::uint8_t n_rings, flags;
};

/// Device memory of one batch. Tally, event results and rings stand one behind the other, to be copied back at once.
struct DeviceBatch {
    HitsView hits;
    Tally* tally;
    EventResult* event;      ///< [n_events]
    Ring* ring;              ///< [n_events * max_rings_per_event]
    std::uint32_t* waiting;  ///< [n_events]
};

/// Threads and blocks of the second tier that the current device holds at once; 0 where it cannot run the kernels.
cudaError_t teams_blocks(int& n_blocks) noexcept;

cudaError_t launch(const RingFinderConfig& config, const DeviceBatch& batch, int team_blocks,
                   cudaStream_t stream) noexcept;

}  // namespace anello::rich::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "rich/rings/batch_finder.hpp"

/// What the host and the device side of the CUDA backend share.
namespace anello::rich::cuda {

/// At the head of a batch's results; zero before the kernels run.
struct alignas(16) Tally {
    std::uint32_t n_waiting;  ///< events left to the second tier
    std::uint32_t n_taken;    ///< of these, taken by a team
    std::uint32_t n_rings;
    std::uint32_t n_in_time, n_unknown;  ///< of hits that came by id
};

/// One per event: its rings stand at [first, first + n_rings) of all rings, which lie in no order of events.
struct EventResult {
    std::uint32_t first;
    std::uint8_t n_rings, flags;
};

/// Hits that come by id: the first tier places them, an event's where its hits stand, one behind the other.
struct HitsById {
    const std::uint32_t* n_events;  ///< of the batch, no more than there is room for; null: hits come with positions
    const std::uint16_t* id;
    const std::int16_t* time_fine;
    const HitPosition* position;
    std::uint32_t n_positions;
    std::int32_t window_fine;
    float *x_mm, *y_mm;
    std::uint32_t* span;  ///< [n_events][2]: where an event's placed hits begin and end
};

/// Device memory of one batch; of hits by id, hits.n_events is how many events there is room for. Tally, event results
/// and rings stand one behind the other, to be copied back at once.
struct DeviceBatch {
    HitsView hits;
    HitsById by_id;
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "rich/rings/batch_finder.hpp"

/// Types that the host and the device side of the CUDA backend share.
namespace anello::rich::cuda {

/// Counts at the head of a batch's results; zero before the kernels run.
struct alignas(16) Tally {
    std::uint32_t n_waiting;  ///< events left to the second tier
    std::uint32_t n_taken;    ///< waiting events that a team has taken
    std::uint32_t n_rings;
    std::uint32_t n_in_time, n_unknown;  ///< numbers of hits given by id
};

/// One per event: its rings are at [first, first + n_rings) of all rings, which are not in the order of events.
struct EventResult {
    std::uint32_t first;
    std::uint8_t n_rings, flags;
};

/// Hits given by id: the first tier writes their positions, those of an event at the place of its hits, without gaps.
struct HitsById {
    const std::uint32_t* n_events;  ///< in the batch, at most the room; null: hits have positions
    const std::uint16_t* id;
    const std::int16_t* time_fine;
    const HitPosition* position;
    std::uint32_t n_positions;
    std::int32_t window_fine;
    float *x_mm, *y_mm;
    std::uint32_t* span;  ///< [n_events][2]: begin and end of an event's placed hits
};

/// Device memory of one batch. For hits by id, hits.n_events is the number of events that have room. Tally, event
/// results and rings are contiguous, so that one copy brings them back.
struct DeviceBatch {
    HitsView hits;
    HitsById by_id;
    Tally* tally;
    EventResult* event;      ///< [n_events]
    Ring* ring;              ///< [n_events * max_rings_per_event]
    std::uint32_t* waiting;  ///< [n_events]
};

/// Number of second-tier blocks that the current device holds at once; 0 if it cannot run the kernels.
cudaError_t teams_blocks(int& n_blocks) noexcept;

cudaError_t launch(const RingFinderConfig& config, const DeviceBatch& batch, int team_blocks,
                   cudaStream_t stream) noexcept;

}  // namespace anello::rich::cuda

// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "rich/rings/kernels_cuda.hpp"

namespace anello::rich::cuda {

template <class T>
cuda_stand_in::Range column(const char* name, T* first, std::size_t n) {
    return {name, first, n * sizeof(T), sizeof(T), !std::is_const_v<T>};
}

/// The parts of a batch that the kernels may access.
std::vector<cuda_stand_in::Range> ranges_of(const RingFinderConfig&, const DeviceBatch& batch) {
    const HitsById& by_id = batch.by_id;
    const std::size_t n_events = by_id.n_events != nullptr ? *by_id.n_events : batch.hits.n_events;
    const std::uint32_t* const offset = batch.hits.hit_offset;
    const auto [least, most] = std::minmax_element(offset, offset + n_events + 1);
    const std::size_t n_hits = *most - *least;
    std::vector<cuda_stand_in::Range> ranges{column("hit_offset", offset, n_events + 1),
                                             column("tally", batch.tally, 1), column("event", batch.event, n_events),
                                             column("ring", batch.ring, n_events * max_rings_per_event),
                                             column("waiting", batch.waiting, n_events)};
    if (by_id.n_events == nullptr) {
        ranges.push_back(column("x_mm", batch.hits.x_mm + *least, n_hits));
        ranges.push_back(column("y_mm", batch.hits.y_mm + *least, n_hits));
        return ranges;
    }
    ranges.push_back(column("n_events", by_id.n_events, 1));
    ranges.push_back(column("id", by_id.id + *least, n_hits));
    ranges.push_back(column("time_fine", by_id.time_fine + *least, n_hits));
    ranges.push_back(column("position", by_id.position, by_id.n_positions));
    ranges.push_back(column("placed x_mm", by_id.x_mm + *least, n_hits));
    ranges.push_back(column("placed y_mm", by_id.y_mm + *least, n_hits));
    ranges.push_back(column("span", by_id.span, 2 * n_events));
    return ranges;
}

}  // namespace anello::rich::cuda

// The device's code, unchanged.
#include "rich/rings/kernels_cuda.cu"  // NOLINT

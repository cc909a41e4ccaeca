// SPDX-License-Identifier: Apache-2.0
#include "rich/rings/kernels/team_search.kernel.hpp"
#include "rich/rings/kernels_cuda.hpp"
#include "rich/rings/lanes/lanes_cuda.hpp"

/// Runs the kernels' templates on the device: first with a thread per event, then, for events that one ring does not
/// explain, with a team of sixteen threads per event.
namespace anello::rich::cuda {
namespace {

constexpr int first_tier_threads = 64;  // small blocks, so that 2000 events use many multiprocessors
constexpr int team_threads = 16;
constexpr int teams_per_block = 2;  // one warp; the shared memory of two teams is below 48 kB

/// Half a warp as the Threads of TeamLanes.
struct HalfWarp {
    static __device__ __forceinline__ unsigned lane() { return threadIdx.x % team_threads; }
    static __device__ __forceinline__ unsigned mask() { return 0xFFFFu << first_lane(); }
    static __device__ __forceinline__ void sync() { __syncwarp(mask()); }
    static __device__ __forceinline__ std::uint32_t ballot(bool mine) {
        return __ballot_sync(mask(), mine) >> first_lane() & 0xFFFFu;
    }
    static __device__ __forceinline__ float exchange(float mine, int distance) {
        return __shfl_xor_sync(mask(), mine, distance, team_threads);
    }
    static __device__ __forceinline__ std::uint32_t from_first(std::uint32_t mine) {
        return __shfl_sync(mask(), mine, 0, team_threads);
    }
    template <class T, class Tag>
    static __device__ __forceinline__ T& room() {
        __shared__ T rooms[teams_per_block];
        return rooms[threadIdx.x / team_threads];
    }

  private:
    static __device__ __forceinline__ unsigned first_lane() { return threadIdx.x & 16u; }
};

using Lanes = TeamLanes<HalfWarp>;

__device__ __forceinline__ bool is_by_id(const DeviceBatch& batch) {
    return batch.by_id.n_events != nullptr;
}

/// A view of a single event.
__device__ __forceinline__ HitsView event_of(const DeviceBatch& batch, std::uint32_t event) {
    return {1, is_by_id(batch) ? batch.by_id.span + 2 * event : batch.hits.hit_offset + event, batch.hits.x_mm,
            batch.hits.y_mm};
}

/// Copies the positions of hits in time with a known position, in their order.
__device__ void place_hits(const DeviceBatch& batch, std::uint32_t event) {
    const HitsById& hits = batch.by_id;
    const std::uint32_t begin = batch.hits.hit_offset[event], end = batch.hits.hit_offset[event + 1];
    std::uint32_t n = begin, n_unknown = 0;
    ANELLO_ROLLED
    for (std::uint32_t hit = begin; hit < end; ++hit) {
        const std::uint32_t id = hits.id[hit];
        const std::int32_t time = hits.time_fine[hit];
        n_unknown += id >= hits.n_positions ? 1 : 0;
        if (id >= hits.n_positions || time > hits.window_fine || time < -hits.window_fine) continue;
        hits.x_mm[n] = hits.position[id].x_mm;
        hits.y_mm[n++] = hits.position[id].y_mm;
    }
    hits.span[2 * event] = begin;
    hits.span[2 * event + 1] = n;
    atomicAdd(&batch.tally->n_in_time, n - begin);
    if (n_unknown > 0) atomicAdd(&batch.tally->n_unknown, n_unknown);
}

/// Number of first-tier blocks for which a multiprocessor must have room, so that the compiler limits registers; 0: no
/// limit.
constexpr int least_blocks(Algorithm algorithm) {
    return algorithm == Algorithm::histogram || algorithm == Algorithm::histogram8x8 ? 8 : 0;
}

/// Processes an event per thread. Each algorithm has its own kernel, with the registers that it needs.
template <Algorithm algorithm>
__global__ void __launch_bounds__(first_tier_threads, least_blocks(algorithm))
    first_tier(const __grid_constant__ RingFinderConfig config, const __grid_constant__ DeviceBatch batch) {
    const std::uint32_t event = blockIdx.x * first_tier_threads + threadIdx.x;
    if (event >= (is_by_id(batch) ? *batch.by_id.n_events : batch.hits.n_events)) return;
    if (is_by_id(batch)) place_hits(batch, event);
    const HitsView one = event_of(batch, event);
    const Bounds bounds = bounds_of<ThreadLanes>(config.acceptance);
    EventRings found;
    bool waits = false;
    if constexpr (algorithm == Algorithm::multiring)
        find_first_tier<ThreadLanes>(one, config, bounds, &found, [&](std::uint32_t) { waits = true; });
    else
        find_in_one_tier<ThreadLanes>(algorithm, config, bounds, one, &found);
    if (waits) {
        batch.waiting[atomicAdd(&batch.tally->n_waiting, 1u)] = event;
        return;
    }
    const std::uint32_t first = found.n_rings == 0 ? 0 : atomicAdd(&batch.tally->n_rings, std::uint32_t{found.n_rings});
    batch.event[event] = {first, found.n_rings, found.flags};
    for (std::uint32_t k = 0; k < found.n_rings; ++k) batch.ring[first + k] = found.ring[k];
}

/// A team processes an event, then takes the next one. By their shared memory, sixteen blocks fit a multiprocessor. The
/// launch bound lets the compiler use all registers that sixteen blocks leave; without it, it used fewer registers for
/// more blocks, and memory for the rest.
__global__ void __launch_bounds__(team_threads* teams_per_block, 16)
    second_tier(const __grid_constant__ RingFinderConfig config, const __grid_constant__ DeviceBatch batch) {
    const Bounds bounds = bounds_of<Lanes>(config.acceptance);
    const std::uint32_t n_waiting = batch.tally->n_waiting;
    for (;;) {
        std::uint32_t turn = 0;
        if (HalfWarp::lane() == 0) turn = atomicAdd(&batch.tally->n_taken, 1u);
        turn = HalfWarp::from_first(turn);
        if (turn >= n_waiting) return;
        const std::uint32_t event = batch.waiting[turn];
        EventRings found;
        search_together<Lanes>(event_of(batch, event), 0, config, bounds, found);
        std::uint32_t first = 0;
        if (HalfWarp::lane() == 0) {
            if (found.n_rings > 0) first = atomicAdd(&batch.tally->n_rings, std::uint32_t{found.n_rings});
            batch.event[event] = {first, found.n_rings, found.flags};
        }
        first = HalfWarp::from_first(first);
        const unsigned k = HalfWarp::lane();
        if (k < found.n_rings) batch.ring[first + k] = found.ring[k];
    }
}

/// Launches with a call that any compiler accepts, because the tests run this file without a device (tests/cuda).
template <class Kernel>
cudaError_t start(Kernel* kernel, unsigned n_blocks, unsigned n_threads, const RingFinderConfig& config,
                  const DeviceBatch& batch, cudaStream_t stream) noexcept {
    cudaLaunchConfig_t how{};
    how.gridDim = dim3(n_blocks);
    how.blockDim = dim3(n_threads);
    how.stream = stream;
    return cudaLaunchKernelEx(&how, kernel, config, batch);
}

template <Algorithm algorithm>
cudaError_t start_first_tier(const RingFinderConfig& config, const DeviceBatch& batch, cudaStream_t stream) noexcept {
    const unsigned n_blocks = (batch.hits.n_events + first_tier_threads - 1) / first_tier_threads;
    return start(&first_tier<algorithm>, n_blocks, first_tier_threads, config, batch, stream);
}

auto first_tier_of(Algorithm algorithm) noexcept {
    switch (algorithm) {
        case Algorithm::crawford:
            return &start_first_tier<Algorithm::crawford>;
        case Algorithm::taubin:
            return &start_first_tier<Algorithm::taubin>;
        case Algorithm::histogram8x8:
            return &start_first_tier<Algorithm::histogram8x8>;
        case Algorithm::histogram:
            return &start_first_tier<Algorithm::histogram>;
        case Algorithm::almagest:
            return &start_first_tier<Algorithm::almagest>;
        case Algorithm::single:
            return &start_first_tier<Algorithm::single>;
        case Algorithm::multiring:
            break;
    }
    return &start_first_tier<Algorithm::multiring>;
}

}  // namespace

cudaError_t teams_blocks(int& n_blocks) noexcept {
    int device = 0, n_multiprocessors = 0, n_blocks_each = 0;
    cudaFuncAttributes attributes{};
    cudaError_t error = cudaFuncGetAttributes(&attributes, second_tier);  // fails if there is no code for the device
    if (error == cudaSuccess) error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&n_multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(second_tier, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_blocks_each, second_tier,
                                                              team_threads * teams_per_block, 0);
    n_blocks = n_multiprocessors * n_blocks_each;
    return error;
}

cudaError_t launch(const RingFinderConfig& config, const DeviceBatch& batch, int team_blocks,
                   cudaStream_t stream) noexcept {
    const cudaError_t error = first_tier_of(config.algorithm)(config, batch, stream);
    if (error != cudaSuccess || config.algorithm != Algorithm::multiring) return error;
    return start(&second_tier, static_cast<unsigned>(team_blocks), team_threads * teams_per_block, config, batch,
                 stream);
}

}  // namespace anello::rich::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

/// The part of the CUDA runtime that this detector uses, without a device: kernels_cuda.cu and ring_finder_cuda.cpp are
/// compiled with it unchanged. A thread is a fiber, which runs until it meets others in a collective operation. A
/// stream is a queue whose operations run when the host waits for any stream. Only operations of streams can access
/// device memory. stand_in.hpp has the functions for tests.
#define __global__
#define __device__
#define __host__
#define __forceinline__ __attribute__((always_inline)) inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static

struct uint3 {
    unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
    explicit dim3(unsigned n = 1) : x(n) {}
    unsigned x, y = 1, z = 1;
};

namespace cuda_stand_in {

const uint3& thread_index() noexcept;
const uint3& block_index() noexcept;
/// Device memory that a kernel may access: a column in a piece of memory, which has other columns, too.
struct Range {
    const char* name;
    const void* begin;
    std::size_t bytes, entry_bytes;
    bool may_be_written;
};
/// Runs one block after another, in any order. ranges: memory that they may access; empty: all of the device's memory.
void run_blocks(unsigned n_blocks, unsigned n_threads, const std::vector<Range>& ranges,
                const std::function<void()>& thread_work);

}  // namespace cuda_stand_in

#define threadIdx (::cuda_stand_in::thread_index())
#define blockIdx (::cuda_stand_in::block_index())

void __syncwarp(unsigned mask) noexcept;
unsigned __ballot_sync(unsigned mask, bool mine) noexcept;
float __shfl_xor_sync(unsigned mask, float mine, int distance, int width) noexcept;
std::uint32_t __shfl_sync(unsigned mask, std::uint32_t mine, int from, int width) noexcept;

inline std::uint32_t atomicAdd(std::uint32_t* place, std::uint32_t n) noexcept {
    const std::uint32_t before = *place;
    *place += n;
    return before;
}

// --- The host's side
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorNoDevice };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
enum cudaFuncAttribute { cudaFuncAttributePreferredSharedMemoryCarveout };
inline constexpr unsigned cudaHostAllocPortable = 1, cudaStreamNonBlocking = 1;

struct CUstream_st;
using cudaStream_t = CUstream_st*;
struct cudaPointerAttributes {
    cudaMemoryType type;
};
struct cudaDeviceProp {
    char name[256];
};
struct cudaFuncAttributes {};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
};

cudaError_t cudaGetDeviceCount(int* n) noexcept;
cudaError_t cudaGetDevice(int* device) noexcept;
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) noexcept;
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) noexcept;
cudaError_t cudaGetLastError() noexcept;
const char* cudaGetErrorString(cudaError_t error) noexcept;

cudaError_t cudaMalloc(void** memory, std::size_t bytes) noexcept;
cudaError_t cudaFree(void* memory) noexcept;
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) noexcept;
cudaError_t cudaFreeHost(void* memory) noexcept;
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) noexcept;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) noexcept;
cudaError_t cudaStreamDestroy(cudaStream_t stream) noexcept;
cudaError_t cudaStreamSynchronize(cudaStream_t stream) noexcept;
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) noexcept;
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream) noexcept;

struct CUgraph_st;
struct CUgraphExec_st;
using cudaGraph_t = CUgraph_st*;
using cudaGraphExec_t = CUgraphExec_st*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) noexcept;
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) noexcept;
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) noexcept;
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) noexcept;
cudaError_t cudaGraphDestroy(cudaGraph_t graph) noexcept;
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) noexcept;

namespace cuda_stand_in {

cudaError_t put_down(cudaStream_t stream, std::function<void()> operation) noexcept;

}  // namespace cuda_stand_in

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, Kernel*) noexcept {
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) noexcept {
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n_blocks, Kernel*, int, std::size_t) noexcept {
    *n_blocks = 2;
    return cudaSuccess;
}
/// Copies the arguments now, as CUDA does. ranges_of(arguments), if there is one, gives the memory for the kernel.
template <class... Expected, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* how, void (*kernel)(Expected...), Given... given) noexcept {
    return cuda_stand_in::put_down(
        how->stream, [n_blocks = how->gridDim.x, n_threads = how->blockDim.x, kernel, given...] {
            std::vector<cuda_stand_in::Range> ranges;
            if constexpr (requires { ranges_of(given...); }) ranges = ranges_of(given...);
            cuda_stand_in::run_blocks(n_blocks, n_threads, ranges, [&] { kernel(given...); });
        });
}

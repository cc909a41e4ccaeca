// SPDX-License-Identifier: Apache-2.0
#include "memory/pinned_cuda.hpp"

#if defined(ANELLO_WITH_CUDA)

#include <cuda_runtime_api.h>

namespace anello::memory {

std::string cuda_unavailable_reason() {
    int n_devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&n_devices);
    if (error == cudaSuccess && n_devices > 0) return "";
    const bool no_device = error == cudaSuccess || error == cudaErrorNoDevice;
    return no_device ? "no device: the CUDA driver shows none" : std::string("no driver: ") + cudaGetErrorString(error);
}

std::byte* take_pinned(std::size_t bytes, std::string& why) {
    why = cuda_unavailable_reason();
    if (!why.empty()) return nullptr;
    void* memory = nullptr;
    const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    if (error == cudaSuccess) return static_cast<std::byte*>(memory);
    why = std::string("cudaHostAlloc: ") + cudaGetErrorString(error);
    return nullptr;
}

void give_back_pinned(std::byte* memory) noexcept {
    cudaFreeHost(memory);
}

std::byte* take_device(std::size_t bytes, std::string& why) {
    why = cuda_unavailable_reason();
    if (!why.empty()) return nullptr;
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaSuccess) return static_cast<std::byte*>(memory);
    why = std::string("cudaMalloc: ") + cudaGetErrorString(error);
    return nullptr;
}

void give_back_device(std::byte* memory) noexcept {
    cudaFree(memory);
}

}  // namespace anello::memory

#else

namespace anello::memory {

std::string cuda_unavailable_reason() {
    return "built without CUDA";
}

std::byte* take_pinned(std::size_t, std::string& why) {
    why = cuda_unavailable_reason();
    return nullptr;
}

void give_back_pinned(std::byte*) noexcept {}

std::byte* take_device(std::size_t, std::string& why) {
    why = cuda_unavailable_reason();
    return nullptr;
}

void give_back_device(std::byte*) noexcept {}

}  // namespace anello::memory

#endif

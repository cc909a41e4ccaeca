// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

/// Page-locked host memory, which a CUDA device copies from and to by itself, and the device's own. Not available in a
/// build without CUDA.
namespace anello::memory {

/// Empty when a CUDA device can be used, else why not: "built without CUDA", "no driver: ...", "no device: ...".
std::string cuda_unavailable_reason();

/// Null if not available; `why` then says why.
std::byte* take_pinned(std::size_t bytes, std::string& why);
void give_back_pinned(std::byte* memory) noexcept;
/// Likewise, on the device.
std::byte* take_device(std::size_t bytes, std::string& why);
void give_back_device(std::byte* memory) noexcept;

}  // namespace anello::memory

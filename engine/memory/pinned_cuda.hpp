// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

/// Page-locked host memory, which a CUDA device can read and write directly, and memory of the device. Not available in
/// builds without CUDA.
namespace anello::memory {

/// Empty if a CUDA device can be used, otherwise the reason: "built without CUDA", "no driver: ...", "no device: ...".
std::string cuda_unavailable_reason();

/// Page-locked host memory; null if not available, and `why` has the reason.
std::byte* take_pinned(std::size_t bytes, std::string& why);
void give_back_pinned(std::byte* memory) noexcept;
/// Device memory; null if not available, and `why` has the reason.
std::byte* take_device(std::size_t bytes, std::string& why);
void give_back_device(std::byte* memory) noexcept;

}  // namespace anello::memory

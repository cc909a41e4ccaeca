// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/copy_ahead.hpp"

namespace anello::camera {

/// Copies `from` to `to`, which begins on a cache line and has room for whole lines.
using CopyFunction = void (*)(std::byte* to, std::span<const std::byte> from) noexcept;

/// memcpy.
void copy_plainly(std::byte* to, std::span<const std::byte> from) noexcept;
/// Stores that bypass the cache, in the widest registers of this processor. What lies behind the last byte, up
/// to the end of its cache line, becomes 0. finish_copies_past_cache() must follow before another thread reads.
CopyFunction choose_copy_past_cache() noexcept;
void finish_copies_past_cache() noexcept;

/// The same by name, for tests; null where the processor or the architecture lacks it.
CopyFunction copy_past_cache_sse2() noexcept;
CopyFunction copy_past_cache_avx512() noexcept;

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/copy_ahead.hpp"

namespace anello::camera {

/// Copies `from` to `to`, which begins on a cache line and has room for whole lines.
using CopyFunction = void (*)(std::byte* to, std::span<const std::byte> from) noexcept;

/// Copies with memcpy().
void copy_plainly(std::byte* to, std::span<const std::byte> from) noexcept;
/// Chooses a copy that bypasses the cache with the widest registers of this processor. It sets the bytes from the last
/// one to the end of its cache line to 0. Call finish_copies_past_cache() before another thread reads.
CopyFunction choose_copy_past_cache() noexcept;
void finish_copies_past_cache() noexcept;

/// These copies by name, for tests; null if the processor or the architecture lacks the instructions.
CopyFunction copy_past_cache_sse2() noexcept;
CopyFunction copy_past_cache_avx512() noexcept;

}  // namespace anello::camera

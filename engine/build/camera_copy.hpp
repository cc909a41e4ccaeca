// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/clock.hpp"
#include "core/copy_ahead.hpp"

namespace anello::build {

/// Copies `from` to `to`, which begins on a cache line and has room for whole lines.
using CopyFunction = void (*)(std::byte* to, std::span<const std::byte> from) noexcept;

/// memcpy.
void copy_plainly(std::byte* to, std::span<const std::byte> from) noexcept;
/// Stores that pass the cache by, in the widest registers that this processor has. What lies behind the last byte, up
/// to the end of its cache line, becomes 0. finish_copies_past_cache() must follow before another thread reads.
CopyFunction choose_copy_past_cache() noexcept;
void finish_copies_past_cache() noexcept;

/// The one of these and copy_ahead() that costs least when it fills `memory`, which is larger than the cache, with
/// datagrams; a plain copy unless another is better by a tenth. PERF NOTE: measured at set-up, in some 20 ms, since it
/// differs: copies of 8 kB past the cache took 1385 to 1750 ns instead of 2435 on one machine; on another a whole
/// datagram took 2812 ns plainly, 3046 past the cache and 2487 ahead (camera_receive).
CopyFunction choose_far_copy(std::span<std::byte> memory, std::size_t datagram_bytes, const Clock& clock);

/// The same by name, for tests; null where the processor or the architecture lacks it.
CopyFunction copy_past_cache_sse2() noexcept;
CopyFunction copy_past_cache_avx512() noexcept;

}  // namespace anello::build

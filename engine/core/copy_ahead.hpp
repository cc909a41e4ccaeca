// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace anello {

/// Copies into memory that is not in the cache. It prefetches each line for writing a kilobyte ahead, also beyond the
/// last byte, since the next copy usually follows there.
void copy_ahead(std::byte* to, std::span<const std::byte> from) noexcept;
/// Only prefetches, for memory that the kernel will write.
void fetch_to_write(std::byte* at, std::size_t n_bytes) noexcept;

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace anello {

/// Copies, and asks for the lines it will write a kilobyte before it writes them: for memory that is not in the cache.
/// Asks a kilobyte beyond the last byte too: for what follows.
void copy_ahead(std::byte* to, std::span<const std::byte> from) noexcept;
/// Only the prefetch, for memory that the kernel will write.
void fetch_to_write(std::byte* at, std::size_t n_bytes) noexcept;

}  // namespace anello

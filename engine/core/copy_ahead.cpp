// SPDX-License-Identifier: Apache-2.0
#include "core/copy_ahead.hpp"

#include <cstring>

namespace anello {

#if defined(__x86_64__)

namespace {
constexpr std::size_t line_bytes = 64;
}

// prefetchw makes the line this core's own even where the consumer's core has read it. Processors without it execute it
// as a no-op.
__attribute__((target("prfchw"))) void copy_ahead(std::byte* to, std::span<const std::byte> from) noexcept {
    constexpr std::size_t ahead_bytes = 1024;
    for (; from.size() >= line_bytes; from = from.subspan(line_bytes), to += line_bytes) {
        __builtin_prefetch(to + ahead_bytes, 1, 3);
        std::memcpy(to, from.data(), line_bytes);
    }
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

__attribute__((target("prfchw"))) void fetch_to_write(std::byte* at, std::size_t n_bytes) noexcept {
    for (std::size_t i = 0; i < n_bytes; i += line_bytes) __builtin_prefetch(at + i, 1, 3);
}

#else

void copy_ahead(std::byte* to, std::span<const std::byte> from) noexcept {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void fetch_to_write(std::byte*, std::size_t) noexcept {}

#endif

}  // namespace anello

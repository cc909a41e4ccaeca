// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Loads and stores integers at any address, in the byte order of the wire.
namespace anello::wire {

template <typename Unsigned>
constexpr Unsigned swap_bytes(Unsigned value) noexcept {
    if constexpr (sizeof(Unsigned) == 2) return static_cast<Unsigned>(__builtin_bswap16(value));
    if constexpr (sizeof(Unsigned) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(Unsigned) == 8) return __builtin_bswap64(value);
    return value;
}

template <typename Unsigned>
inline Unsigned load_le(const std::byte* from) noexcept {
    Unsigned value;
    std::memcpy(&value, from, sizeof value);
    return std::endian::native == std::endian::little ? value : swap_bytes(value);
}

template <typename Unsigned>
inline Unsigned load_be(const std::byte* from) noexcept {
    return swap_bytes(load_le<Unsigned>(from));
}

template <typename Unsigned>
inline void store_le(std::byte* to, Unsigned value) noexcept {
    if constexpr (std::endian::native != std::endian::little) value = swap_bytes(value);
    std::memcpy(to, &value, sizeof value);
}

template <typename Unsigned>
inline void store_be(std::byte* to, Unsigned value) noexcept {
    store_le(to, swap_bytes(value));
}

}  // namespace anello::wire

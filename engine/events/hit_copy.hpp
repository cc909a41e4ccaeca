// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Copies one fragment's few hits. A call to memcpy costs more than moving five hits, so short copies are two
/// overlapping moves of fixed size. They read and write only [0, n).
namespace anello::events {

/// Copies eight 16-bit values at a time.
struct CopyAsIs {
    void four(const void* from, void* to) const noexcept { std::memcpy(to, from, 8); }
    void eight(const void* from, void* to) const noexcept { std::memcpy(to, from, 16); }
    std::int16_t one(std::int16_t value) const noexcept { return value; }
};

/// Copies eight 16-bit values at a time and adds an offset, saturated.
struct CopyShifted {
    std::int16_t offset;

    std::int16_t one(std::int16_t value) const noexcept {
        return static_cast<std::int16_t>(std::clamp(value + offset, -32768, 32767));
    }
#if defined(__SSE2__)
    void four(const void* from, void* to) const noexcept {
        const __m128i values = _mm_loadl_epi64(static_cast<const __m128i*>(from));
        _mm_storel_epi64(static_cast<__m128i*>(to), _mm_adds_epi16(values, _mm_set1_epi16(offset)));
    }
    void eight(const void* from, void* to) const noexcept {
        const __m128i values = _mm_loadu_si128(static_cast<const __m128i*>(from));
        _mm_storeu_si128(static_cast<__m128i*>(to), _mm_adds_epi16(values, _mm_set1_epi16(offset)));
    }
#else
    template <int n>
    void some(const void* from, void* to) const noexcept {
        std::int16_t values[n];
        std::memcpy(values, from, sizeof values);
        for (auto& value : values) value = one(value);
        std::memcpy(to, values, sizeof values);
    }
    void four(const void* from, void* to) const noexcept {
        some<4>(from, to);
    }
    void eight(const void* from, void* to) const noexcept {
        some<8>(from, to);
    }
#endif
};

/// Source and destination must not overlap.
template <typename T, typename Move>
inline void copy_hits(const T* from, std::uint32_t n, T* to, Move move) noexcept {
    static_assert(sizeof(T) == 2);
    if (n >= 8) {
        for (std::uint32_t i = 0; i + 8 <= n; i += 8) move.eight(from + i, to + i);
        move.eight(from + n - 8, to + n - 8);
        return;
    }
    if (n >= 4) {
        move.four(from, to);
        move.four(from + n - 4, to + n - 4);
        return;
    }
    for (std::uint32_t i = 0; i < n; ++i) to[i] = static_cast<T>(move.one(static_cast<std::int16_t>(from[i])));
}

}  // namespace anello::events

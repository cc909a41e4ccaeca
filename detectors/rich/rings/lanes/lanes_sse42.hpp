// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "core/hd.hpp"
#include "rich/rings/lanes/lanes_scalar.hpp"

namespace anello::rich {

/// Four lanes: SSE4.2, part of the minimum x86-64-v2. Names as in ScalarLanes.
struct Sse42Lanes {
    using Scalar = ScalarLanesOf<Sse42Lanes>;
    static constexpr int width = 4;
    static constexpr int byte_width = 16;
    using F = __m128;
    using M = __m128;
    using N = __m128i;  ///< counts
    using I = __m128i;
    using B = __m128i;

    ANELLO_LANE static F set(float x) { return _mm_set1_ps(x); }
    ANELLO_LANE static F load(const float* p) { return _mm_load_ps(p); }
    ANELLO_LANE static F load_anywhere(const float* p) { return _mm_loadu_ps(p); }
    ANELLO_LANE static void store(float* p, F x) { _mm_store_ps(p, x); }
    ANELLO_LANE static void store_anywhere(float* p, F x) { _mm_storeu_ps(p, x); }
    ANELLO_LANE static F min(F a, F b) { return _mm_min_ps(a, b); }
    ANELLO_LANE static F max(F a, F b) { return _mm_max_ps(a, b); }
    ANELLO_LANE static F abs(F a) { return _mm_andnot_ps(set(-0.0f), a); }
    ANELLO_LANE static F rsqrt(F a) {
        const F r = _mm_rsqrt_ps(a);
        return r * (1.5f - 0.5f * a * r * r);
    }
    ANELLO_LANE static F rough_rcp(F a) { return _mm_rcp_ps(a); }
    ANELLO_LANE static F rcp(F a) {
        const F r = _mm_rcp_ps(a);
        return r * (2.0f - a * r);
    }
    ANELLO_LANE static F sqrt(F a) { return _mm_sqrt_ps(a); }
    ANELLO_LANE static F split(F x, F& mantissa) {
        const I bits = _mm_castps_si128(x), one = _mm_set1_epi32(0x3F800000);
        mantissa = _mm_castsi128_ps(_mm_or_si128(_mm_and_si128(bits, _mm_set1_epi32(0x7FFFFF)), one));
        return _mm_cvtepi32_ps(_mm_sub_epi32(_mm_srli_epi32(bits, 23), _mm_set1_epi32(127)));
    }
    ANELLO_LANE static M less(F a, F b) { return _mm_cmplt_ps(a, b); }
    ANELLO_LANE static M equal(F a, F b) { return _mm_cmpeq_ps(a, b); }
    ANELLO_LANE static M both(M a, M b) { return _mm_and_ps(a, b); }
    ANELLO_LANE static M either(M a, M b) { return _mm_or_ps(a, b); }
    ANELLO_LANE static F select(M m, F yes, F no) { return _mm_blendv_ps(no, yes, m); }
    ANELLO_LANE static N count_zero() { return _mm_setzero_si128(); }
    ANELLO_LANE static N count_below_2(N n, F x) { return _mm_sub_epi32(n, _mm_castps_si128(less(abs(x), set(2)))); }
    ANELLO_LANE static F count_float(N n) { return _mm_cvtepi32_ps(n); }
    ANELLO_LANE static bool any(M m) { return _mm_movemask_ps(m) != 0; }
    ANELLO_LANE static std::uint32_t bits(M m) { return static_cast<std::uint32_t>(_mm_movemask_ps(m)); }
    ANELLO_LANE static float sum(F a) {
        const F s = a + _mm_movehl_ps(a, a);
        return s[0] + s[1];
    }
    ANELLO_LANE static float greatest(F a) {
        const F s = _mm_max_ps(a, _mm_movehl_ps(a, a));
        return s[0] > s[1] ? s[0] : s[1];
    }

    ANELLO_LANE static I index(const std::uint32_t* fraction, int n) {
        const I f = _mm_load_si128(reinterpret_cast<const __m128i*>(fraction));
        return _mm_mulhi_epu16(f, _mm_set1_epi32(n));
    }
    ANELLO_LANE static F lookup(const float* table, I i, int) {
        return F{table[_mm_extract_epi32(i, 0)], table[_mm_extract_epi32(i, 1)], table[_mm_extract_epi32(i, 2)],
                 table[_mm_extract_epi32(i, 3)]};
    }
    ANELLO_LANE static void store_bytes(std::uint8_t* p, F x) {
        const __m128i words = _mm_packs_epi32(_mm_cvtps_epi32(x), _mm_setzero_si128());
        const int four = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
        __builtin_memcpy(p, &four, sizeof four);
    }

    ANELLO_LANE static B byte_set(std::uint8_t x) { return _mm_set1_epi8(static_cast<char>(x)); }
    ANELLO_LANE static B byte_load(const std::uint8_t* p) { return _mm_load_si128(reinterpret_cast<const B*>(p)); }
    ANELLO_LANE static void byte_store(std::uint8_t* p, B x) { _mm_store_si128(reinterpret_cast<B*>(p), x); }
    ANELLO_LANE static B byte_max(B a, B b) { return _mm_max_epu8(a, b); }
    ANELLO_LANE static B byte_subtract(B a, B b) { return _mm_subs_epu8(a, b); }
    ANELLO_LANE static B byte_add(B a, B b) { return _mm_adds_epu8(a, b); }
    ANELLO_LANE static B byte_spread(const std::uint8_t* p) { return byte_set(*p); }
    ANELLO_LANE static void byte_fold(std::uint8_t* p, B a) { byte_store(p, a); }
    ANELLO_LANE static int greatest_byte(const std::uint8_t* p, int n) {  // minimum of 255 - x, in pairs, by minpos
        const __m128i rank = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        const __m128i present = _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(n)), rank);
        const __m128i x = _mm_and_si128(_mm_load_si128(reinterpret_cast<const __m128i*>(p)), present);
        const __m128i rest = _mm_xor_si128(x, _mm_set1_epi8(-1));
        return 255 - _mm_extract_epi16(_mm_minpos_epu16(_mm_min_epu8(rest, _mm_srli_epi16(rest, 8))), 0);
    }
    ANELLO_LANE static std::uint32_t bytes_above(const std::uint8_t* p, std::uint8_t x) {
        const __m128i a = _mm_load_si128(reinterpret_cast<const __m128i*>(p)),
                      least = _mm_set1_epi8(static_cast<char>(x));
        const __m128i not_above = _mm_cmpeq_epi8(_mm_subs_epu8(a, least), _mm_setzero_si128());
        return static_cast<std::uint32_t>(~_mm_movemask_epi8(not_above) & 0xffff);
    }
};

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "core/hd.hpp"
#include "rich/rings/lanes/lanes_scalar.hpp"

namespace anello::rich {

/// Eight lanes: AVX2 with FMA. Names as in ScalarLanes.
struct Avx2Lanes {
    using Scalar = ScalarLanesOf<Avx2Lanes>;
    static constexpr int width = 8;
    static constexpr int byte_width = 32;
    using F = __m256;
    using M = __m256;
    using N = __m256i;  ///< counts
    using I = __m256i;
    using B = __m256i;

    ANELLO_LANE static F set(float x) { return _mm256_set1_ps(x); }
    ANELLO_LANE static F load(const float* p) { return _mm256_load_ps(p); }
    ANELLO_LANE static F load_anywhere(const float* p) { return _mm256_loadu_ps(p); }
    ANELLO_LANE static void store(float* p, F x) { _mm256_store_ps(p, x); }
    ANELLO_LANE static void store_anywhere(float* p, F x) { _mm256_storeu_ps(p, x); }
    ANELLO_LANE static F min(F a, F b) { return _mm256_min_ps(a, b); }
    ANELLO_LANE static F max(F a, F b) { return _mm256_max_ps(a, b); }
    ANELLO_LANE static F abs(F a) { return _mm256_andnot_ps(set(-0.0f), a); }
    ANELLO_LANE static F rsqrt(F a) {
        const F r = _mm256_rsqrt_ps(a);
        return r * (1.5f - 0.5f * a * r * r);
    }
    ANELLO_LANE static F rough_rcp(F a) { return _mm256_rcp_ps(a); }
    ANELLO_LANE static F rcp(F a) {
        const F r = _mm256_rcp_ps(a);
        return r * (2.0f - a * r);
    }
    ANELLO_LANE static F sqrt(F a) { return _mm256_sqrt_ps(a); }
    ANELLO_LANE static F split(F x, F& mantissa) {
        const I bits = _mm256_castps_si256(x), one = _mm256_set1_epi32(0x3F800000);
        mantissa = _mm256_castsi256_ps(_mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFF)), one));
        return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(127)));
    }
    ANELLO_LANE static M less(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
    ANELLO_LANE static M equal(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
    ANELLO_LANE static M both(M a, M b) { return _mm256_and_ps(a, b); }
    ANELLO_LANE static M either(M a, M b) { return _mm256_or_ps(a, b); }
    ANELLO_LANE static F select(M m, F yes, F no) { return _mm256_blendv_ps(no, yes, m); }
    ANELLO_LANE static N count_zero() { return _mm256_setzero_si256(); }
    ANELLO_LANE static N count_below_2(N n, F x) {
        return _mm256_sub_epi32(n, _mm256_castps_si256(less(abs(x), set(2))));
    }
    ANELLO_LANE static F count_float(N n) { return _mm256_cvtepi32_ps(n); }
    ANELLO_LANE static bool any(M m) { return _mm256_movemask_ps(m) != 0; }
    ANELLO_LANE static std::uint32_t bits(M m) { return static_cast<std::uint32_t>(_mm256_movemask_ps(m)); }
    ANELLO_LANE static float sum(F a) {
        __m128 s = _mm256_castps256_ps128(a) + _mm256_extractf128_ps(a, 1);
        s = s + _mm_movehl_ps(s, s);
        return s[0] + s[1];
    }
    ANELLO_LANE static float greatest(F a) {
        __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
        s = _mm_max_ps(s, _mm_movehl_ps(s, s));
        return s[0] > s[1] ? s[0] : s[1];
    }

    ANELLO_LANE static I index(const std::uint32_t* fraction, int n) {
        const I f = _mm256_load_si256(reinterpret_cast<const __m256i*>(fraction));
        return _mm256_mulhi_epu16(f, _mm256_set1_epi32(n));
    }
    ANELLO_LANE static F lookup_32(const float* table, I i) {
        const F by_8 = _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)),
                by_16 = _mm256_castsi256_ps(_mm256_slli_epi32(i, 27));
        const F a = _mm256_permutevar8x32_ps(load(table), i), b = _mm256_permutevar8x32_ps(load(table + 8), i);
        const F c = _mm256_permutevar8x32_ps(load(table + 16), i), d = _mm256_permutevar8x32_ps(load(table + 24), i);
        return _mm256_blendv_ps(_mm256_blendv_ps(a, b, by_8), _mm256_blendv_ps(c, d, by_8), by_16);
    }
    ANELLO_LANE static F lookup(const float* table, I i, int n) {
        const F low = lookup_32(table, i);
        if (n <= 32) return low;
        return _mm256_blendv_ps(low, lookup_32(table + 32, i), _mm256_castsi256_ps(_mm256_slli_epi32(i, 26)));
    }
    ANELLO_LANE static void store_bytes(std::uint8_t* p, F x) {
        const I i = _mm256_cvtps_epi32(x);
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
    }

    ANELLO_LANE static B byte_set(std::uint8_t x) { return _mm256_set1_epi8(static_cast<char>(x)); }
    ANELLO_LANE static B byte_load(const std::uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const B*>(p)); }
    ANELLO_LANE static void byte_store(std::uint8_t* p, B x) { _mm256_store_si256(reinterpret_cast<B*>(p), x); }
    ANELLO_LANE static B byte_max(B a, B b) { return _mm256_max_epu8(a, b); }
    ANELLO_LANE static B byte_subtract(B a, B b) { return _mm256_subs_epu8(a, b); }
    ANELLO_LANE static B byte_add(B a, B b) { return _mm256_adds_epu8(a, b); }
    ANELLO_LANE static B byte_spread(const std::uint8_t* p) {
        std::int16_t two;
        __builtin_memcpy(&two, p, sizeof two);
        const B which = _mm256_set_m128i(_mm_set1_epi8(1), _mm_setzero_si128());
        return _mm256_shuffle_epi8(_mm256_set1_epi16(two), which);
    }
    ANELLO_LANE static void byte_fold(std::uint8_t* p, B a) {
        const __m128i sum = _mm_adds_epu8(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
        _mm_store_si128(reinterpret_cast<__m128i*>(p), sum);
    }
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

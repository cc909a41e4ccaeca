// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "core/hd.hpp"
#include "rich/rings/lanes/lanes_scalar.hpp"

namespace anello::rich {

/// Sixteen lanes: AVX-512 F, BW, DQ, VL. Names as in ScalarLanes.
struct Avx512Lanes {
    using Scalar = ScalarLanesOf<Avx512Lanes>;
    static constexpr int width = 16;
    static constexpr int byte_width = 64;
    using F = __m512;
    using M = __mmask16;
    using N = __m512i;  ///< counts
    using I = __m512i;
    using B = __m512i;

    ANELLO_LANE static F set(float x) { return _mm512_set1_ps(x); }
    ANELLO_LANE static F load(const float* p) { return _mm512_load_ps(p); }
    ANELLO_LANE static F load_anywhere(const float* p) { return _mm512_loadu_ps(p); }
    ANELLO_LANE static void store(float* p, F x) { _mm512_store_ps(p, x); }
    ANELLO_LANE static void store_anywhere(float* p, F x) { _mm512_storeu_ps(p, x); }
    ANELLO_LANE static F min(F a, F b) { return _mm512_min_ps(a, b); }
    ANELLO_LANE static F max(F a, F b) { return _mm512_max_ps(a, b); }
    ANELLO_LANE static F abs(F a) { return _mm512_abs_ps(a); }
    ANELLO_LANE static F rsqrt(F a) { return _mm512_rsqrt14_ps(a); }
    ANELLO_LANE static F rough_rcp(F a) { return _mm512_rcp14_ps(a); }
    ANELLO_LANE static F rcp(F a) {
        const F r = _mm512_rcp14_ps(a);
        return r * (2.0f - a * r);
    }
    ANELLO_LANE static F sqrt(F a) { return _mm512_sqrt_ps(a); }
    ANELLO_LANE static F split(F x, F& mantissa) {
        mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
        return _mm512_getexp_ps(x);
    }
    ANELLO_LANE static M less(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
    ANELLO_LANE static M equal(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
    ANELLO_LANE static M both(M a, M b) { return _kand_mask16(a, b); }
    ANELLO_LANE static M either(M a, M b) { return _kor_mask16(a, b); }
    ANELLO_LANE static F select(M m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }
    ANELLO_LANE static N count_zero() { return _mm512_setzero_si512(); }
    ANELLO_LANE static N count_below_2(N n, F x) {  // bit 30 is set from 2 on
        const M below = _mm512_testn_epi32_mask(_mm512_castps_si512(x), _mm512_set1_epi32(0x40000000));
        return _mm512_mask_add_epi32(n, below, n, _mm512_set1_epi32(1));
    }
    ANELLO_LANE static F count_float(N n) { return _mm512_cvtepi32_ps(n); }
    ANELLO_LANE static bool any(M m) { return m != 0; }
    ANELLO_LANE static std::uint32_t bits(M m) { return m; }
    ANELLO_LANE static float sum(F a) { return _mm512_reduce_add_ps(a); }
    ANELLO_LANE static float greatest(F a) { return _mm512_reduce_max_ps(a); }

    ANELLO_LANE static I index(const std::uint32_t* fraction, int n) {
        return _mm512_mulhi_epu16(_mm512_load_si512(fraction), _mm512_set1_epi32(n));
    }
    ANELLO_LANE static F lookup(const float* table, I i, int n) {
        const F low = _mm512_permutex2var_ps(load(table), i, load(table + 16));
        if (n <= 32) return low;
        const F high = _mm512_permutex2var_ps(load(table + 32), i, load(table + 48));
        return _mm512_mask_blend_ps(_mm512_test_epi32_mask(i, _mm512_set1_epi32(32)), low, high);
    }
    ANELLO_LANE static void store_bytes(std::uint8_t* p, F x) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
    }

    ANELLO_LANE static B byte_set(std::uint8_t x) { return _mm512_set1_epi8(static_cast<char>(x)); }
    ANELLO_LANE static B byte_load(const std::uint8_t* p) { return _mm512_load_si512(p); }
    ANELLO_LANE static void byte_store(std::uint8_t* p, B x) { _mm512_store_si512(p, x); }
    ANELLO_LANE static B byte_max(B a, B b) { return _mm512_max_epu8(a, b); }
    ANELLO_LANE static B byte_subtract(B a, B b) { return _mm512_subs_epu8(a, b); }
    ANELLO_LANE static B byte_add(B a, B b) { return _mm512_adds_epu8(a, b); }
    ANELLO_LANE static B byte_spread(const std::uint8_t* p) {
        std::int32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        const B which = _mm512_set_epi64(0x0303030303030303, 0x0303030303030303, 0x0202020202020202, 0x0202020202020202,
                                         0x0101010101010101, 0x0101010101010101, 0, 0);
        return _mm512_shuffle_epi8(_mm512_set1_epi32(four), which);
    }
    ANELLO_LANE static void byte_fold(std::uint8_t* p, B a) {
        const __m256i two = _mm256_adds_epu8(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
        const __m128i sum = _mm_adds_epu8(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
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
        const __m128i a = _mm_load_si128(reinterpret_cast<const __m128i*>(p));
        return _mm_cmpgt_epu8_mask(a, _mm_set1_epi8(static_cast<char>(x)));
    }
};

}  // namespace anello::rich

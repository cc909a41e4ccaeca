// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "core/hd.hpp"
#include "wire/bytes.hpp"

/// Lanes of u16 samples for pulse.kernel.hpp. V holds `width` of them; load() takes any address; add() saturates.
namespace anello::camera {

struct ScalarSampleLanes {
    static constexpr std::uint32_t width = 1;
    using V = std::uint16_t;
    using ForSums = ScalarSampleLanes;

    ANELLO_LANE static V set(std::uint16_t x) { return x; }
    ANELLO_LANE static V load(const std::byte* p) { return wire::load_le<std::uint16_t>(p); }
    ANELLO_LANE static V positions() { return 0; }
    ANELLO_LANE static V add(V a, V b) { return static_cast<V>(a + b > 65535 ? 65535 : a + b); }
    ANELLO_LANE static V max(V a, V b) { return a > b ? a : b; }
    ANELLO_LANE static bool equal(V a, V b) { return a == b; }
    ANELLO_LANE static V select(bool m, V yes, V no) { return m ? yes : no; }
    ANELLO_LANE static bool any_at_least(V a, std::uint16_t level) { return a >= level; }
    ANELLO_LANE static V greatest_everywhere(V a) { return a; }
    ANELLO_LANE static std::uint16_t least(V a) { return a; }
    /// Sum of the lanes from..to - 1.
    ANELLO_LANE static std::uint32_t sum_between(V a, std::uint32_t from, std::uint32_t to) {
        return from < to ? a : 0;
    }
};

struct Sse42SampleLanes {
    static constexpr std::uint32_t width = 8;
    using V = __m128i;
    using ForSums = Sse42SampleLanes;

    ANELLO_LANE static V set(std::uint16_t x) { return _mm_set1_epi16(static_cast<short>(x)); }
    ANELLO_LANE static V load(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    ANELLO_LANE static V positions() { return _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7); }
    ANELLO_LANE static V add(V a, V b) { return _mm_adds_epu16(a, b); }
    ANELLO_LANE static V max(V a, V b) { return _mm_max_epu16(a, b); }
    ANELLO_LANE static V equal(V a, V b) { return _mm_cmpeq_epi16(a, b); }
    ANELLO_LANE static V select(V m, V yes, V no) { return _mm_blendv_epi8(no, yes, m); }
    ANELLO_LANE static bool any_at_least(V a, std::uint16_t level) {
        return _mm_movemask_epi8(equal(max(a, set(level)), a)) != 0;
    }
    ANELLO_LANE static std::uint16_t least(V a) {
        return static_cast<std::uint16_t>(_mm_extract_epi16(_mm_minpos_epu16(a), 0));
    }
    /// The result is in lane 0.
    ANELLO_LANE static V greatest_first(V a) {
        return _mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(a, set(0xffff))), set(0xffff));
    }
    ANELLO_LANE static V greatest_everywhere(V a) {
        return _mm_shuffle_epi8(greatest_first(a), _mm_set1_epi16(0x0100));
    }
    ANELLO_LANE static std::uint32_t sum_words(V a) {
        const V pairs = _mm_add_epi32(a, _mm_shuffle_epi32(a, 0x4e));
        return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_add_epi32(pairs, _mm_shuffle_epi32(pairs, 0xb1))));
    }
    /// madd multiplies signed numbers: 32,768 is subtracted from samples and added back to their sum.
    ANELLO_LANE static std::uint32_t sum_between(V a, std::uint32_t from, std::uint32_t to) {
        const V below = _mm_cmpgt_epi16(set(static_cast<std::uint16_t>(from)), positions());
        const V inside = _mm_andnot_si128(below, _mm_cmpgt_epi16(set(static_cast<std::uint16_t>(to)), positions()));
        const V moved = _mm_and_si128(_mm_xor_si128(a, set(0x8000)), inside);
        return sum_words(_mm_madd_epi16(moved, set(1))) + 32768 * (to - from);
    }
};

#ifdef __AVX2__
struct Avx2SampleLanes {
    static constexpr std::uint32_t width = 16;
    using V = __m256i;
    using Half = Sse42SampleLanes;
    using ForSums = Avx2SampleLanes;

    ANELLO_LANE static V set(std::uint16_t x) { return _mm256_set1_epi16(static_cast<short>(x)); }
    ANELLO_LANE static V load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
    ANELLO_LANE static V positions() { return _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
    ANELLO_LANE static V add(V a, V b) { return _mm256_adds_epu16(a, b); }
    ANELLO_LANE static V max(V a, V b) { return _mm256_max_epu16(a, b); }
    ANELLO_LANE static V equal(V a, V b) { return _mm256_cmpeq_epi16(a, b); }
    ANELLO_LANE static V select(V m, V yes, V no) { return _mm256_blendv_epi8(no, yes, m); }
    ANELLO_LANE static bool any_at_least(V a, std::uint16_t level) {
        return _mm256_movemask_epi8(equal(max(a, set(level)), a)) != 0;
    }
    ANELLO_LANE static __m128i low(V a) { return _mm256_castsi256_si128(a); }
    ANELLO_LANE static __m128i high(V a) { return _mm256_extracti128_si256(a, 1); }
    ANELLO_LANE static std::uint16_t least(V a) { return Half::least(_mm_min_epu16(low(a), high(a))); }
    ANELLO_LANE static __m128i greatest_first(V a) { return Half::greatest_first(_mm_max_epu16(low(a), high(a))); }
    ANELLO_LANE static V greatest_everywhere(V a) { return _mm256_broadcastw_epi16(greatest_first(a)); }
    ANELLO_LANE static std::uint32_t sum_between(V a, std::uint32_t from, std::uint32_t to) {
        const V below = _mm256_cmpgt_epi16(set(static_cast<std::uint16_t>(from)), positions());
        const V inside =
            _mm256_andnot_si256(below, _mm256_cmpgt_epi16(set(static_cast<std::uint16_t>(to)), positions()));
        const V sums = _mm256_madd_epi16(_mm256_and_si256(_mm256_xor_si256(a, set(0x8000)), inside), set(1));
        return Half::sum_words(_mm_add_epi32(low(sums), high(sums))) + 32768 * (to - from);
    }
};
#endif

#ifdef __AVX512BW__
struct Avx512SampleLanes {
    static constexpr std::uint32_t width = 32;
    using V = __m512i;
    using Half = Avx2SampleLanes;
    using ForSums = Avx2SampleLanes;  // windows and pedestals are rarely longer

    ANELLO_LANE static V set(std::uint16_t x) { return _mm512_set1_epi16(static_cast<short>(x)); }
    ANELLO_LANE static V load(const std::byte* p) { return _mm512_loadu_si512(p); }
    ANELLO_LANE static V positions() {
        return _mm512_inserti64x4(_mm512_castsi256_si512(Half::positions()),
                                  _mm256_add_epi16(Half::positions(), Half::set(16)), 1);
    }
    ANELLO_LANE static V add(V a, V b) { return _mm512_adds_epu16(a, b); }
    ANELLO_LANE static V max(V a, V b) { return _mm512_max_epu16(a, b); }
    ANELLO_LANE static __mmask32 equal(V a, V b) { return _mm512_cmpeq_epi16_mask(a, b); }
    ANELLO_LANE static V select(__mmask32 m, V yes, V no) { return _mm512_mask_blend_epi16(m, no, yes); }
    ANELLO_LANE static bool any_at_least(V a, std::uint16_t level) {
        return _mm512_cmpge_epu16_mask(a, set(level)) != 0;
    }
    ANELLO_LANE static __m256i low(V a) { return _mm512_castsi512_si256(a); }
    ANELLO_LANE static __m256i high(V a) { return _mm512_extracti64x4_epi64(a, 1); }
    ANELLO_LANE static std::uint16_t least(V a) { return Half::least(_mm256_min_epu16(low(a), high(a))); }
    ANELLO_LANE static V greatest_everywhere(V a) {
        return _mm512_broadcastw_epi16(Half::greatest_first(_mm256_max_epu16(low(a), high(a))));
    }
};
#endif

}  // namespace anello::camera

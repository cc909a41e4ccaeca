// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/hd.hpp"

namespace anello::rich {

/// One lane: the reference on the CPU, and the type for one CUDA thread. Every lane type has these names. Operators do
/// the arithmetic; M is the result of a comparison.
/// The tag keeps the copies that different instruction sets make of one function apart.
template <class Tag>
struct ScalarLanesOf {
    using Scalar = ScalarLanesOf;
    static constexpr int width = 1;       ///< float lanes
    static constexpr int byte_width = 1;  ///< byte lanes
    using F = float;
    using M = bool;
    using N = std::int32_t;  ///< counts
    using I = std::uint32_t;
    using B = std::uint8_t;

    ANELLO_LANE static F set(float x) { return x; }
    ANELLO_LANE static F load(const float* p) { return *p; }
    ANELLO_LANE static F load_anywhere(const float* p) { return *p; }  ///< p need not be aligned
    ANELLO_LANE static void store(float* p, F x) { *p = x; }
    ANELLO_LANE static void store_anywhere(float* p, F x) { *p = x; }
    ANELLO_LANE static F min(F a, F b) { return a < b ? a : b; }
    ANELLO_LANE static F max(F a, F b) { return a > b ? a : b; }
    ANELLO_LANE static F abs(F a) { return __builtin_fabsf(a); }
    ANELLO_LANE static F rsqrt(F a) { return 1.0f / __builtin_sqrtf(a); }
    ANELLO_LANE static F rough_rcp(F a) { return 1.0f / a; }  ///< relative error 3e-4
    ANELLO_LANE static F rcp(F a) { return 1.0f / a; }
    ANELLO_LANE static F sqrt(F a) { return __builtin_sqrtf(a); }
    /// x = mantissa * 2^exponent with the mantissa in [1, 2); x must be normal and > 0. Returns the exponent.
    ANELLO_LANE static F split(F x, F& mantissa) {
        std::uint32_t bits;
        __builtin_memcpy(&bits, &x, sizeof bits);
        const std::uint32_t bits_of_mantissa = (bits & 0x7FFFFFu) | 0x3F800000u;
        __builtin_memcpy(&mantissa, &bits_of_mantissa, sizeof mantissa);
        return static_cast<F>(static_cast<std::int32_t>(bits >> 23) - 127);
    }
    ANELLO_LANE static M less(F a, F b) { return a < b; }
    ANELLO_LANE static M equal(F a, F b) { return a == b; }
    ANELLO_LANE static M both(M a, M b) { return a & b; }
    ANELLO_LANE static M either(M a, M b) { return a | b; }
    ANELLO_LANE static F select(M m, F yes, F no) { return m ? yes : no; }
    ANELLO_LANE static N count_zero() { return 0; }
    /// Adds 1 if |x| < 2.
    ANELLO_LANE static N count_below_2(N n, F x) { return n + (abs(x) < 2); }
    ANELLO_LANE static F count_float(N n) { return static_cast<F>(n); }
    ANELLO_LANE static bool any(M m) { return m; }
    ANELLO_LANE static std::uint32_t bits(M m) { return m; }
    ANELLO_LANE static float sum(F a) { return a; }
    ANELLO_LANE static float greatest(F a) { return a; }

    /// index = fraction * n / 65536 (fraction below 65536); lookup() reads a table of 64 floats.
    ANELLO_LANE static I index(const std::uint32_t* fraction, int n) { return *fraction * static_cast<I>(n) >> 16; }
    ANELLO_LANE static F lookup(const float* table, I i, int) { return table[i]; }
    /// Rounds x in [0, 255] to bytes.
    ANELLO_LANE static void store_bytes(std::uint8_t* p, F x) { *p = static_cast<std::uint8_t>(x + 0.5f); }

    ANELLO_LANE static B byte_set(std::uint8_t x) { return x; }
    ANELLO_LANE static B byte_load(const std::uint8_t* p) { return *p; }
    ANELLO_LANE static void byte_store(std::uint8_t* p, B x) { *p = x; }
    ANELLO_LANE static B byte_max(B a, B b) { return a > b ? a : b; }
    ANELLO_LANE static B byte_subtract(B a, B b) { return static_cast<B>(a > b ? a - b : 0); }     ///< saturates
    ANELLO_LANE static B byte_add(B a, B b) { return static_cast<B>(a + b > 255 ? 255 : a + b); }  ///< saturates
    /// The byte at p in sixteen lanes; each further sixteen lanes have the next byte.
    ANELLO_LANE static B byte_spread(const std::uint8_t* p) { return *p; }
    /// Stores at most sixteen bytes; for more lanes, the saturating sum of lanes sixteen apart.
    ANELLO_LANE static void byte_fold(std::uint8_t* p, B a) { *p = a; }
    /// The largest of the n bytes at p, n at most 16.
    ANELLO_LANE static int greatest_byte(const std::uint8_t* p, int n) {
        int greatest = 0;
        for (int k = 0; k < n; ++k) greatest = p[k] > greatest ? p[k] : greatest;
        return greatest;
    }
    /// Bit mask of the sixteen bytes at p that are greater than x.
    ANELLO_LANE static std::uint32_t bytes_above(const std::uint8_t* p, std::uint8_t x) {
        std::uint32_t above = 0;
        for (int k = 0; k < 16; ++k) above |= static_cast<std::uint32_t>(p[k] > x) << k;
        return above;
    }
};

using ScalarLanes = ScalarLanesOf<void>;

}  // namespace anello::rich

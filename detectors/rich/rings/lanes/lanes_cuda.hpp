// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/hd.hpp"
#include "rich/rings/lanes/lanes_scalar.hpp"

/// The lane types of the CUDA backend. They need no CUDA header: sixteen threads exchange data through `Threads`, which
/// is a half warp on the device, and sixteen fibers in the tests, so that the kernels run there without a device.
namespace anello::rich {

/// One event per thread: all data belong to this thread.
struct CudaThread;
using ThreadLanes = ScalarLanesOf<CudaThread>;

/// Operations on the four bytes of a register at once.
struct FourBytes {
    template <class Operation>
    ANELLO_LANE static std::uint32_t each(std::uint32_t a, std::uint32_t b, const Operation& operation) {
        std::uint32_t result = 0;
        for (int shift = 0; shift < 32; shift += 8)
            result |= (operation(a >> shift & 0xFF, b >> shift & 0xFF) & 0xFF) << shift;
        return result;
    }
#if defined(__CUDA_ARCH__)
    ANELLO_LANE static std::uint32_t max(std::uint32_t a, std::uint32_t b) {
        return __vmaxu4(a, b);
    }
    ANELLO_LANE static std::uint32_t subtract(std::uint32_t a, std::uint32_t b) {
        return __vsubus4(a, b);
    }
    ANELLO_LANE static std::uint32_t add(std::uint32_t a, std::uint32_t b) {
        return __vaddus4(a, b);
    }
#else
    ANELLO_LANE static std::uint32_t max(std::uint32_t a, std::uint32_t b) {
        return each(a, b, [](std::uint32_t x, std::uint32_t y) { return x > y ? x : y; });
    }
    ANELLO_LANE static std::uint32_t subtract(std::uint32_t a, std::uint32_t b) {
        return each(a, b, [](std::uint32_t x, std::uint32_t y) { return x > y ? x - y : 0; });
    }
    ANELLO_LANE static std::uint32_t add(std::uint32_t a, std::uint32_t b) {
        return each(a, b, [](std::uint32_t x, std::uint32_t y) { return x + y > 255 ? 255 : x + y; });
    }
#endif
};

/// Sixteen lanes, each a thread: one hypothesis (or hit) per thread, four bytes each when lanes are bytes. They are
/// sixteen and not 32, because the kernels' groups have sixteen: two events share a warp. Names as in ScalarLanes.
///
/// Threads offers lane(), sync(), ballot(bool) (bit k: lane k), exchange(x, k) (the value of lane ^ k),
/// and room<T, Tag>(), memory that the sixteen share.
template <class Threads>
struct TeamLanes {
    using Scalar = ScalarLanesOf<TeamLanes>;
    using S = Scalar;
    static constexpr int width = 16;
    static constexpr int byte_width = 64;
    using F = float;
    using M = bool;
    using N = std::int32_t;
    using I = std::uint32_t;
    using B = std::uint32_t;

    ANELLO_LANE static int place() { return static_cast<int>(Threads::lane()); }  ///< number of this thread's lane
    ANELLO_LANE static F set(float x) { return x; }
    ANELLO_LANE static F load(const float* p) { return p[Threads::lane()]; }
    ANELLO_LANE static F load_anywhere(const float* p) { return load(p); }
    /// Before it, all threads have read the old content; after it, all see the new content.
    template <class T>
    ANELLO_LANE static void put(T* p, T x) {
        Threads::sync();
        p[Threads::lane()] = x;
        Threads::sync();
    }
    ANELLO_LANE static void store(float* p, F x) { put(p, x); }
    ANELLO_LANE static F min(F a, F b) { return S::min(a, b); }
    ANELLO_LANE static F max(F a, F b) { return S::max(a, b); }
    ANELLO_LANE static F abs(F a) { return S::abs(a); }
    ANELLO_LANE static F rsqrt(F a) { return S::rsqrt(a); }
    ANELLO_LANE static F rough_rcp(F a) { return S::rough_rcp(a); }
    ANELLO_LANE static F rcp(F a) { return S::rcp(a); }
    ANELLO_LANE static F sqrt(F a) { return S::sqrt(a); }
    ANELLO_LANE static F split(F x, F& mantissa) { return S::split(x, mantissa); }
    ANELLO_LANE static M less(F a, F b) { return a < b; }
    ANELLO_LANE static M equal(F a, F b) { return a == b; }
    ANELLO_LANE static M both(M a, M b) { return a & b; }
    ANELLO_LANE static M either(M a, M b) { return a | b; }
    ANELLO_LANE static F select(M m, F yes, F no) { return m ? yes : no; }
    ANELLO_LANE static N count_zero() { return 0; }
    ANELLO_LANE static N count_below_2(N n, F x) { return S::count_below_2(n, x); }
    ANELLO_LANE static F count_float(N n) { return static_cast<F>(n); }
    ANELLO_LANE static bool any(M m) { return Threads::ballot(m) != 0; }
    ANELLO_LANE static std::uint32_t bits(M m) { return Threads::ballot(m); }
    /// Gives the same bits in every lane, because each level adds the same two numbers.
    ANELLO_LANE static float sum(F a) {
        for (int distance = width / 2; distance > 0; distance /= 2) a = a + Threads::exchange(a, distance);
        return a;
    }
    ANELLO_LANE static float greatest(F a) {
        for (int distance = width / 2; distance > 0; distance /= 2) a = S::max(a, Threads::exchange(a, distance));
        return a;
    }

    ANELLO_LANE static I index(const std::uint32_t* fraction, int n) {
        return fraction[Threads::lane()] * static_cast<I>(n) >> 16;
    }
    ANELLO_LANE static F lookup(const float* table, I i, int) { return table[i]; }
    ANELLO_LANE static void store_bytes(std::uint8_t* p, F x) { put(p, static_cast<std::uint8_t>(x + 0.5f)); }

    ANELLO_LANE static B byte_set(std::uint8_t x) { return x * 0x01010101u; }
    ANELLO_LANE static B byte_load(const std::uint8_t* p) {
        return reinterpret_cast<const std::uint32_t*>(p)[Threads::lane()];
    }
    ANELLO_LANE static void byte_store(std::uint8_t* p, B x) { put(reinterpret_cast<std::uint32_t*>(p), x); }
    ANELLO_LANE static B byte_max(B a, B b) { return FourBytes::max(a, b); }
    ANELLO_LANE static B byte_subtract(B a, B b) { return FourBytes::subtract(a, b); }
    ANELLO_LANE static B byte_add(B a, B b) { return FourBytes::add(a, b); }
    ANELLO_LANE static B exchange_bits(B mine, int distance) {
        float x;
        __builtin_memcpy(&x, &mine, sizeof x);
        x = Threads::exchange(x, distance);
        __builtin_memcpy(&mine, &x, sizeof x);
        return mine;
    }
    ANELLO_LANE static B byte_spread(const std::uint8_t* p) { return byte_set(p[Threads::lane() / 4]); }
    ANELLO_LANE static void byte_fold(std::uint8_t* p, B a) {
        B sum = byte_add(a, exchange_bits(a, 4));
        sum = byte_add(sum, exchange_bits(sum, 8));
        Threads::sync();
        if (Threads::lane() < 4) reinterpret_cast<std::uint32_t*>(p)[Threads::lane()] = sum;
        Threads::sync();
    }
    ANELLO_LANE static int greatest_byte(const std::uint8_t* p, int n) {
        return static_cast<int>(greatest(place() < n ? p[Threads::lane()] : 0));
    }
    ANELLO_LANE static std::uint32_t bytes_above(const std::uint8_t* p, std::uint8_t x) {
        return Threads::ballot(p[Threads::lane()] > x);
    }
};

}  // namespace anello::rich

namespace anello {

template <class Threads>
struct Team<rich::TeamLanes<Threads>> {
    static constexpr bool is_of_threads = true;
    template <class T, class Tag>
    struct Shared {
        ANELLO_LANE T& get() { return Threads::template room<T, Tag>(); }
    };
    ANELLO_LANE static bool leads() { return Threads::lane() == 0; }
    ANELLO_LANE static void sync() { Threads::sync(); }
};

}  // namespace anello

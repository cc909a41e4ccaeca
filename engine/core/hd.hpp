// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// ANELLO_HD marks the kernels: code for the host and, where the CUDA compiler reads it, for the device too.
/// ANELLO_LANE marks what must vanish into its caller: one processor instruction or a few.
#if defined(__CUDACC__)
#define ANELLO_HD __host__ __device__
#define ANELLO_LANE __host__ __device__ __forceinline__
#else
#define ANELLO_HD
#define ANELLO_LANE __attribute__((always_inline)) inline
#endif

/// Before a loop that a device shall not unroll.
/// PERF NOTE: an event's search unrolled is 232 kB of machine code, more than the device's instruction cache: on an
/// H100 its warps waited for instructions four fifths of their time. Rolled up, but for the innermost loops, it takes
/// two thirds and half of the time.
#if defined(__CUDA_ARCH__)
#define ANELLO_ROLLED _Pragma("unroll 1")
#else
#define ANELLO_ROLLED
#endif

namespace anello {

/// How lanes that are threads of their own work together: a group of CUDA threads runs a kernel as one, each with its
/// own copy of every local variable. On a CPU the lanes are one thread, and all this is nothing.
///
/// Rules for a kernel whose lanes may be threads: what L::store() fills stands in ANELLO_SHARED memory; so does what
/// is too large for every thread to hold. Shared memory is written by L::store(), or by the leading thread between two
/// sync(), as assign() does. Tests on a stand-in for the device's runtime catch the rest.
template <class L>
struct Team {
    static constexpr bool is_of_threads = false;
    template <class T, class Tag>
    struct Shared {
        T value;
        ANELLO_LANE T& get() { return value; }
    };
    ANELLO_LANE static bool leads() { return true; }
    ANELLO_LANE static void sync() {}
};

/// Gives a value that is the same in all threads to a variable that they share, once all have read what it was.
template <class L, class T>
ANELLO_LANE void assign(T& shared, T value) {
    Team<L>::sync();
    if (Team<L>::leads()) shared = value;
    Team<L>::sync();
}

/// A local variable that the threads of a team share.
#define ANELLO_SHARED(L, Type, name)                                               \
    struct name##_of_team {};                                                      \
    typename ::anello::Team<L>::template Shared<Type, name##_of_team> name##_room; \
    Type& name = name##_room.get()

/// The place of the lowest set bit; x must not be 0.
template <class L>
ANELLO_LANE int lowest_bit(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
    return __ffsll(static_cast<long long>(x)) - 1;
#else
    return __builtin_ctzll(x);
#endif
}

}  // namespace anello

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// ANELLO_HD marks kernels: the compiler builds them for the host and, with the CUDA compiler, for the device too.
/// ANELLO_LANE marks functions of one or a few processor instructions, which must be inlined.
#if defined(__CUDACC__)
#define ANELLO_HD __host__ __device__
#define ANELLO_LANE __host__ __device__ __forceinline__
#else
#define ANELLO_HD
#define ANELLO_LANE __attribute__((always_inline)) inline
#endif

/// Goes before a loop that the device compiler must not unroll.
/// PERF NOTE: with all loops unrolled, an event's search has 232 kB of machine code, more than the device's instruction
/// cache, and the warps of an H100 waited for instructions four fifths of the time. With only the innermost loops
/// unrolled it takes two thirds to half of the time.
#if defined(__CUDA_ARCH__)
#define ANELLO_ROLLED _Pragma("unroll 1")
#else
#define ANELLO_ROLLED
#endif

namespace anello {

/// How lanes cooperate when each lane is a thread of its own: a group of CUDA threads runs one kernel together, and
/// each thread has its own copy of every local variable. On a CPU the lanes are one thread and all of this compiles to
/// nothing.
///
/// Rules for a kernel whose lanes may be threads: a variable that L::store() fills must be in ANELLO_SHARED memory, and
/// so must one that is too large for every thread to hold. Only L::store() writes shared memory, or the leading thread
/// between two sync(), as assign() does. Tests on a stand-in for the device's runtime catch violations.
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

/// Assigns a value that all threads have computed alike to a shared variable, after all threads have read the old
/// value.
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

/// Position of the lowest set bit; x must not be 0.
template <class L>
ANELLO_LANE int lowest_bit(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
    return __ffsll(static_cast<long long>(x)) - 1;
#else
    return __builtin_ctzll(x);
#endif
}

}  // namespace anello

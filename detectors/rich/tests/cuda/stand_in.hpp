// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

/// Functions for tests of the CUDA runtime's stand-in (cuda_runtime_api.h).
namespace cuda_stand_in {

/// Order in which threads run between collective operations, blocks one after another, and streams' operations. Code
/// with all necessary barriers gives the same results in any order.
enum class Order : std::uint8_t { first_ahead, last_ahead, random };
void set_order(Order order, std::uint64_t seed);

/// Kinds of collective operations; each is identified by the place in the program that calls it.
enum class Collective : std::uint8_t { sync, ballot, exchange, broadcast };
struct Site {
    Collective kind;
    std::uint64_t n_calls;
};
/// The collective operations called since forget_sites().
const std::map<const void*, Site>& sites();
void forget_sites();
/// Spoils the operation at this place from now on: a barrier does nothing, a ballot loses its lowest bit, an exchange
/// takes another thread's value, a broadcast keeps each thread's own value.
void spoil(const void* site);
void mend(const void* site);
void mend_all();

/// Whether each access is checked. In shared memory: if two threads of a team access a place and one of them writes,
/// there must be a barrier between. As on a device, an exchange or a ballot does not order memory. In device memory:
/// the kernel may access only what its arguments allow (ranges_of() in kernels.cpp).
void watch(bool is_on);
/// From now on, the last entry of the range with this name may not be accessed; empty name: no limit.
void shorten(const std::string& name);

/// Errors since the last call; empty: none. Errors are: threads that meet in different operations, races in shared
/// memory, accesses beyond a column, copies beyond a piece of memory, memory that is freed twice.
std::string take_complaint();

}  // namespace cuda_stand_in

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

/// What tests ask of the CUDA runtime's stand-in (cuda_runtime_api.h).
namespace cuda_stand_in {

/// In which order threads run from one meeting to the next, blocks one after another, and streams' operations. Code
/// whose threads meet where they must gives the same results in all of them.
enum class Order : std::uint8_t { first_ahead, last_ahead, random };
void set_order(Order order, std::uint64_t seed);

/// Collective operations, by the place in the program that calls them.
enum class Collective : std::uint8_t { sync, ballot, exchange, broadcast };
struct Site {
    Collective kind;
    std::uint64_t n_calls;
};
/// Since forget_sites().
const std::map<const void*, Site>& sites();
void forget_sites();
/// This one does something else from now on: a barrier nothing, a ballot loses its lowest bit, an exchange takes
/// another one's value, a broadcast one's own.
void spoil(const void* site);
void mend(const void* site);
void mend_all();

/// Whether each access is looked at. To shared memory: two threads of a team that access a place, one of them writing,
/// must have met in a barrier between. An exchange or a ballot orders no memory, as on a device. To the device's: what
/// the kernel may touch by its arguments (ranges_of() in kernels.cpp).
void watch(bool is_on);
/// The last entry of the range of this name may not be touched from now on; empty: of none.
void shorten(const std::string& name);

/// What went wrong since the last call; empty: nothing. Threads that meet in different operations, races in
/// shared memory, accesses beyond a column, copies beyond a piece of memory, memory that is given back twice.
std::string take_complaint();

}  // namespace cuda_stand_in

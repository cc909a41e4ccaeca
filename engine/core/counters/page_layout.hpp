// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/counters/counters.hpp"
#include "core/counters/event_slot.hpp"
#include "core/counters/page_owner.hpp"
#include "core/counters/thread_cell.hpp"
#include "core/latency/latency_leg.hpp"

namespace anello {

inline constexpr std::uint64_t page_magic = 0x4547415054434e41;  ///< "ANCTPAGE"
inline constexpr std::uint64_t page_version = 4;
/// A chain of 265 boards has some ten counters for each board. Unused entries take no memory.
inline constexpr std::size_t max_counters = 16384, max_legs = 16, max_threads = 64, max_buffers = 64;

/// A counter page in shared memory. All positions are fixed, so a reader uses only four numbers from the page and
/// checks their bounds. Any change of this layout must change page_version.
struct PageHead {
    std::uint64_t magic, version;
    PageOwner owner;
    Nanoseconds started_ns;  ///< wall clock, when the process began
    std::uint64_t run_number;
    std::array<char, 64> run_name;
    std::array<char, 32> chain;
    std::array<char, 72> config_digest;
    std::atomic<std::uint64_t> state;    ///< a RunState
    std::atomic<Nanoseconds> beaten_ns;  ///< wall clock
    std::atomic<std::uint64_t> n_counters, n_legs, n_threads, n_buffers;
};

struct PageEntry {
    std::array<char, 40> block, name;
    std::array<char, 150> meaning;
    std::uint8_t kind, unit;
};

template <typename Cell>
struct Named {
    std::array<char, 64> name;
    alignas(64) std::array<std::byte, sizeof(Cell)> cell;  ///< constructed by add_..., untouched until then
};

/// In shared memory the page ends after the used legs, and later after the used entries.
struct PageLayout {
    PageHead head;
    alignas(64) std::array<std::atomic<std::uint64_t>, max_counters> values;
    std::array<Named<ThreadCell>, max_threads> threads;
    std::array<Named<BufferCell>, max_buffers> buffers;
    EventSlot event;
    std::array<Named<LatencyLeg>, max_legs> legs;
    std::array<PageEntry, max_counters> entries;
};

}  // namespace anello

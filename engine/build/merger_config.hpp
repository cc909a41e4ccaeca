// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "build/event_batch.hpp"
#include "core/clock.hpp"

namespace anello::build {

inline constexpr std::uint32_t max_boards = 32;

struct MergerConfig {
    std::uint32_t n_boards = 4;
    std::uint32_t first_board = 0;  ///< by which boards are named in counters: the others are another node's
    /// Fragments at most this far after the event's first fragment belong to it. 0: equal timestamps only.
    std::uint32_t window_ticks = 2;
    /// A board that the others have waited for this long is silent: they go on without it until it sends again.
    Nanoseconds timeout_ns = 20'000'000;
    /// A batch is handed on this long after its first event at the latest.
    Nanoseconds batch_time_ns = 100'000;
    bool close_when_idle = false;  ///< hand a batch on as soon as there is nothing to merge
    bool keep_incomplete = true;   ///< false: events that lack a board are dropped and counted as rejected
    BatchShape batch;
    std::uint32_t max_fragments_per_block = 1024;  ///< the receive stage's BlockShape::max_fragments
    std::uint32_t blocks_per_board = 16;           ///< full blocks the merger holds at most, per board
    void validate() const;                         ///< Throws ConfigError.
};

}  // namespace anello::build

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "core/words.hpp"
#include "events/event_batch.hpp"

namespace anello::events {

inline constexpr std::uint32_t max_boards = 32;

struct MergerConfig {
    std::uint32_t n_boards = 4;
    std::uint32_t first_board = 0;  // its number in the names of counters; another node has those before
    std::uint32_t window_ticks = 1;
    Nanoseconds timeout_ns = 20'000'000;
    Nanoseconds batch_time_ns = 100'000;
    bool close_when_idle = true;
    bool keep_incomplete = true;
    BatchShape batch;
    std::uint32_t max_fragments_per_block = 1024;  ///< the receive stage's BlockShape::max_fragments
    std::uint32_t blocks_per_board = 16;           ///< most full blocks of each board in the merger
    void validate() const;                         ///< Throws ConfigError.
};

extern const Keys<MergerConfig> merger_keys;

}  // namespace anello::events

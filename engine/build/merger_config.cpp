// SPDX-License-Identifier: Apache-2.0
#include "build/merger_config.hpp"

#include <string>

#include "core/errors.hpp"

namespace anello::build {
namespace {

void require(bool holds, const char* field, const char* rule, std::int64_t given, const char* remedy) {
    if (!holds) throw ConfigError(field, rule, std::to_string(given), remedy);
}

}  // namespace

void MergerConfig::validate() const {
    require(n_boards >= 1 && n_boards <= max_boards, "build.n_boards", "must be 1 to 32", n_boards,
            "An event says in 32 bits which boards are missing.");
    require(window_ticks <= 100, "build.window_ticks", "must be 0 to 100", window_ticks,
            "Hit times within an event reach +-127 ticks.");
    require(timeout_ns > 0, "build.timeout_ns", "must be above 0", timeout_ns, "20000000 (20 ms) is the default.");
    require(batch_time_ns > 0, "build.batch_time_ns", "must be above 0", batch_time_ns,
            "100000 (100 us) is the default.");
    require(batch.max_events >= 1, "build.max_events", "must be above 0", batch.max_events, "1024 is the default.");
    require(batch.max_hits >= 1 && batch.max_hits <= (1U << 30), "build.max_hits", "must be 1 to 2^30", batch.max_hits,
            "About 48 hits per event are the default.");
    require(max_fragments_per_block >= 1 && max_fragments_per_block <= (1U << 24), "build.max_fragments_per_block",
            "must be 1 to 2^24", max_fragments_per_block, "Use the receive stage's block shape.");
    require(blocks_per_board >= 2 && blocks_per_board <= 64, "build.blocks_per_board", "must be 2 to 64",
            blocks_per_board, "16 is the default.");
}

}  // namespace anello::build

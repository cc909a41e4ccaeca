// SPDX-License-Identifier: Apache-2.0
#include "events/merger_config.hpp"

#include <string>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::events {
namespace {

using C = MergerConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::window_ticks>("window_ticks", {0, 100},
                            "Fragments at most this far after an event's first fragment belong to it, ticks of 24.951 "
                            "ns; 0: equal timestamps only. Hit times reach +-127 ticks."),
    K::of<&C::timeout_ns, ns_per_ms>("timeout_ms", {0.1, 10'000},
                                     "A board counts as silent when the others have waited this long for it; events "
                                     "are then built without it until it sends again, ms."),
    K::of<&C::batch_time_ns, ns_per_us>("batch_time_us", {1, 1e6},
                                        "Longest time from the first event of a batch until it is handed on, us."),
    K::of<&C::close_when_idle>("close_when_idle", "Hands a batch on as soon as there is nothing to merge."),
    K::of<&C::keep_incomplete>("keep_incomplete",
                               "Hands on events that lack some boards; false: rejects and counts them."),
};

void require(bool holds, const char* field, const char* rule, std::int64_t given, const char* remedy) {
    if (!holds) throw ConfigError(field, rule, std::to_string(given), remedy);
}

}  // namespace

constinit const Keys<MergerConfig> merger_keys{"build", "Fragments of all boards into events.", keys};

void MergerConfig::validate() const {
    merger_keys.check(*this);
    require(n_boards >= 1 && n_boards <= max_boards, "n_boards", "must be 1 to 32", n_boards,
            "An event has 32 bits for missing boards.");
    require(batch.max_events >= 1, "max_events", "must be above 0", batch.max_events, "1024 is the default.");
    require(batch.max_hits >= 1 && batch.max_hits <= (1U << 30), "max_hits", "must be 1 to 2^30", batch.max_hits,
            "About 48 hits per event are the default.");
    require(max_fragments_per_block >= 1 && max_fragments_per_block <= (1U << 24), "max_fragments_per_block",
            "must be 1 to 2^24", max_fragments_per_block, "Use the receive stage's block shape.");
    require(blocks_per_board >= 2 && blocks_per_board <= 64, "blocks_per_board", "must be 2 to 64", blocks_per_board,
            "16 is the default.");
}

}  // namespace anello::events

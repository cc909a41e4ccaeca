// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anello::source {

/// Which event of the pool was sent under which key; kept for the events that selected() chooses.
struct TruthSample {
    std::uint64_t event_key;   ///< burst_id << 32 | timestamp_ticks, or run_id << 32 | event_number
    std::uint32_t pool_index;  ///< also the event's index in the sample behind the pool
};

}  // namespace anello::source

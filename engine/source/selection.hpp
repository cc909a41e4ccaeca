// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "source/random.hpp"

namespace anello::source {

/// Whether an event is kept for comparison with the truth. Source and store choose the same events without
/// communicating, since both know the event key (burst_id << 32
/// timestamp_ticks): one event in 2^prescale_log2, spread evenly.
constexpr bool selected(std::uint64_t event_key, std::uint32_t prescale_log2) noexcept {
    return (mix64(event_key + 0x9e3779b97f4a7c15U) & ((std::uint64_t{1} << prescale_log2) - 1)) == 0;
}

}  // namespace anello::source

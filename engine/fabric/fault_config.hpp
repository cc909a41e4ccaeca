// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "core/seed.hpp"
#include "core/words.hpp"

namespace anello::fabric {

/// Faults to inject, for tests and rehearsals; the same seed and the same calls give the same faults.
struct FaultConfig {
    // fault_keys says what each of these means.
    double loss = 0;
    double duplicate = 0;
    Nanoseconds delay_ns = 0;
    std::uint64_t disconnect_after = 0;
    std::uint64_t seed = default_seed;
    /// Loss and duplicates break the promise of a reliable transport, so they must be allowed explicitly there.
    bool break_promises = false;

    bool any() const noexcept { return loss > 0 || duplicate > 0 || delay_ns > 0 || disconnect_after > 0; }
};

/// What a user may set is less than what a fabric can do, which check() says.
extern const Keys<FaultConfig> fault_keys;
void check(const FaultConfig& config);  ///< Throws ConfigError.

/// What a FaultyFabric took from its caller is messages_sent of the fabric inside + lost - duplicated + what was given
/// up while it was delayed.
enum class FaultCounter : std::uint8_t { lost, duplicated, delayed, given_up, disconnected, count };

}  // namespace anello::fabric

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 5> counter_labels<fabric::FaultCounter>{{
    {"lost", "messages that were not sent, by intent", Place::verdict},
    {"duplicated", "messages that were sent twice, by intent", Place::verdict},
    {"delayed", "messages that were held back, by intent", Place::informative},
    {"given_up", "messages whose peer went down while they were held back", Place::informative},
    {"disconnected", "peers lost by intent", Place::informative},
}};

}  // namespace anello

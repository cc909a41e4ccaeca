// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "core/errors.hpp"
#include "core/keys.hpp"
#include "events/event_batch.hpp"

namespace anello::rich {

/// Effort for a batch of events: a trigger that is late makes less effort, so that overload costs quality, not time.
enum class Effort : std::uint8_t {
    full,     ///< the finder of the configuration
    cheaper,  ///< `single`: five times as fast as `multiring`
    pass      ///< a default decision without looking at the hits
};

struct DeadlineConfig {
    Nanoseconds deadline_ns = 0;                    ///< 0: no deadline, full effort for every event
    double cheaper_after = 0.5, pass_after = 0.75;  ///< fractions of deadline_ns
    std::uint16_t pass_primitive = 0x180;

    void validate() const;  ///< Throws ConfigError.
    /// Chooses by the time since the batch's oldest event arrived, in ns; 0: not known.
    Effort effort(Nanoseconds age_ns) const noexcept {
        if (deadline_ns == 0) return Effort::full;
        const double share = static_cast<double>(age_ns) / static_cast<double>(deadline_ns);
        return share < cheaper_after ? Effort::full : share < pass_after ? Effort::cheaper : Effort::pass;
    }
};

extern const Keys<DeadlineConfig> deadline_keys;

/// Checks a primitive id. Throws a ConfigError that names the key and its default.
void check_primitive(const std::string& key, std::uint16_t id, const std::string& by_default);

/// Time since the oldest event of the batch arrived, by the kernel's stamp: it uses only this machine's clock, not that
/// of the front ends. 0 when there is no stamp.
inline Nanoseconds age_of(const events::BatchColumns& batch, std::uint32_t n_events, Nanoseconds wall_ns) noexcept {
    if (n_events == 0 || batch.kernel_ns[0] == 0) return 0;
    return std::max<Nanoseconds>(wall_ns - batch.kernel_ns[0], 0);
}

}  // namespace anello::rich

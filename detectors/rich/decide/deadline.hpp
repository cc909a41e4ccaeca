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

/// How much is done about an event: what is behind does less, so that overload costs quality and not time.
enum class Effort : std::uint8_t {
    full,     ///< the finder of the configuration
    cheaper,  ///< `single`: five times as fast as `multiring`
    pass      ///< a default decision, without a look
};

struct DeadlineConfig {
    Nanoseconds deadline_ns = 0;                    ///< 0: none; every event is decided with full effort
    double cheaper_after = 0.5, pass_after = 0.75;  ///< shares of it
    std::uint16_t pass_primitive = 0x180;

    void validate() const;  ///< Throws ConfigError.
    /// By the age of a batch's oldest event since it arrived; 0: unknown.
    Effort effort(Nanoseconds age_ns) const noexcept {
        if (deadline_ns == 0) return Effort::full;
        const double share = static_cast<double>(age_ns) / static_cast<double>(deadline_ns);
        return share < cheaper_after ? Effort::full : share < pass_after ? Effort::cheaper : Effort::pass;
    }
};

extern const Keys<DeadlineConfig> deadline_keys;

/// Throws ConfigError, which names the key and its default.
void check_primitive(const std::string& key, std::uint16_t id, const std::string& by_default);

/// Since the oldest event of the batch arrived, by the kernel's stamp: this machine's clock alone, whatever that of the
/// front ends says. 0 where there is no stamp.
inline Nanoseconds age_of(const events::BatchColumns& batch, std::uint32_t n_events, Nanoseconds wall_ns) noexcept {
    if (n_events == 0 || batch.kernel_ns[0] == 0) return 0;
    return std::max<Nanoseconds>(wall_ns - batch.kernel_ns[0], 0);
}

}  // namespace anello::rich

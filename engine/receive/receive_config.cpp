// SPDX-License-Identifier: Apache-2.0
#include "receive/receive_config.hpp"

#include "core/errors.hpp"

namespace anello::receive {

FullPolicy parse_full_policy(const std::string& text) {
    if (text == "wait") return FullPolicy::wait;
    if (text == "drop_new") return FullPolicy::drop_new;
    if (text == "overwrite_oldest") return FullPolicy::overwrite_oldest;
    throw ConfigError("receive.full_policy", "must be wait, drop_new or overwrite_oldest", text,
                      "Use wait unless the newest data matter more than the oldest.");
}

const char* name_of(FullPolicy policy) noexcept {
    if (policy == FullPolicy::wait) return "wait";
    return policy == FullPolicy::drop_new ? "drop_new" : "overwrite_oldest";
}

void validate(const StreamConfig& config, const BlockShape& shape) {
    if (config.gathering_time_ns < 0)
        throw ConfigError("receive.gathering_time_ns", "must not be negative", std::to_string(config.gathering_time_ns),
                          "Use 0 to hand on a block after each batch of datagrams.");
    if (shape.max_fragments == 0 || shape.max_hits == 0 || shape.max_packets == 0)
        throw ConfigError("receive.block", "max_fragments, max_hits and max_packets must be at least 1",
                          std::to_string(shape.max_fragments) + ", " + std::to_string(shape.max_hits) + ", " +
                              std::to_string(shape.max_packets),
                          "A block must hold the largest packet of its stream; longer ones count as too_many_hits.");
}

}  // namespace anello::receive

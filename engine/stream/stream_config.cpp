// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/errors.hpp"
#include "stream/stream_status.hpp"

namespace anello::stream {
namespace {

constexpr std::array<const char*, 3> direction_names{"both", "send", "receive"};
constexpr std::array<const char*, 7> status_names{"ok",        "would_block", "timeout", "closed",
                                                  "peer_died", "too_large",   "corrupt"};

constexpr Nanoseconds shortest_peer_timeout_ns = 50'000'000;

void require(bool holds, const char* field, const std::string& rule, std::int64_t given, const char* remedy) {
    if (!holds) throw ConfigError(field, rule, std::to_string(given), remedy);
}

}  // namespace

Direction parse_direction(const std::string& text) {
    const auto* found = std::find(direction_names.begin(), direction_names.end(), text);
    if (found == direction_names.end())
        throw ConfigError("direction", "must be both, send or receive", text, "Choose one of these");
    return static_cast<Direction>(found - direction_names.begin());
}

Carry parse_carry(const std::string& text) {
    if (text == "message") return Carry::message;
    if (text == "put") return Carry::put;
    throw ConfigError("carry", "must be message or put", text, "message is faster over TCP");
}

const char* name_of(Direction direction) noexcept {
    return direction_names.at(static_cast<std::size_t>(direction));
}

const char* name_of(StreamStatus status) noexcept {
    return status_names.at(static_cast<std::size_t>(status));
}

void validate(const StreamConfig& config) {
    const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    require(std::has_single_bit(config.ring_bytes) && config.ring_bytes >= smallest_ring_bytes &&
                config.ring_bytes <= largest_ring_bytes,
            "ring_bytes", fmt::format("must be a power of two from {} to {}", smallest_ring_bytes, largest_ring_bytes),
            bytes(config.ring_bytes), "4 MB suits most uses; a message must fit whole");
    require(config.grain_bytes >= 64 && config.grain_bytes <= largest_ring_bytes, "grain_bytes",
            "must be at least 64 and no larger than the largest ring", bytes(config.grain_bytes),
            "256 kB suits most uses; a ring takes at most a quarter of itself");
    require(config.max_peer_ring_bytes >= smallest_ring_bytes, "max_peer_ring_bytes",
            fmt::format("must be at least {}", smallest_ring_bytes), bytes(config.max_peer_ring_bytes),
            "No peer could be accepted");
    require(config.spin_ns >= 0, "spin_ns", "must not be negative", config.spin_ns, "0 is wait = block");
    require(config.connect_ns > 0, "connect_ns", "must be above 0", config.connect_ns, "5 s suits most uses");
    require(config.handshake_ns > 0, "handshake_ns", "must be above 0", config.handshake_ns, "1 s suits most uses");
    require(config.peer_timeout_ns >= shortest_peer_timeout_ns, "peer_timeout_ns", "must be at least 50 ms",
            config.peer_timeout_ns, "5 s suits most uses: a busy machine may keep a program from running for a while");
}

}  // namespace anello::stream

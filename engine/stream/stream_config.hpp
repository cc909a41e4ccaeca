// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "fabric/fabric_config.hpp"
#include "stream/ring/wait_mode.hpp"
#include "stream/stream_keys.hpp"

namespace anello::stream {

inline constexpr Nanoseconds no_deadline_ns = std::numeric_limits<Nanoseconds>::max();
inline constexpr std::size_t smallest_ring_bytes = 64 * 1024;
inline constexpr std::size_t largest_ring_bytes = std::size_t{1} << 32;

/// Which ways bytes go, as seen from this side; the other side must mean the same.
enum class Direction : std::uint8_t { both, send, receive };

Direction parse_direction(const std::string& text);  ///< Throws ConfigError.
const char* name_of(Direction direction) noexcept;

/// How bytes travel over a network. message: the other side says where they go as they come, fastest over TCP. put:
/// written by us into the other side's ring without its doing, for networks whose hardware does so.
enum class Carry : std::uint8_t { message, put };

Carry parse_carry(const std::string& text);  ///< Throws ConfigError.

struct StreamConfig {
    std::size_t ring_bytes = std::size_t{4} << 20;  ///< our receive ring: a power of two
    /// A sender publishes, and a receiver gives space back, at least this often within one call.
    std::size_t grain_bytes = 256 * 1024;
    /// A peer that wants a larger ring to be mapped is refused.
    std::size_t max_peer_ring_bytes = std::size_t{1} << 30;
    Direction direction = Direction::both;
    WaitMode wait = WaitMode::spin_then_sleep;
    Nanoseconds spin_ns = 50'000;              ///< of spin_then_sleep
    Nanoseconds connect_ns = 5'000'000'000;    ///< connect(): until somebody listens and has answered
    Nanoseconds handshake_ns = 1'000'000'000;  ///< accept(): a stranger that says nothing is dropped after this
    /// Of streams over a network: a peer that was silent for this long (a cut cable) is dead, and what it has not
    /// taken this long after our end is given up.
    Nanoseconds peer_timeout_ns = 5'000'000'000;
    Carry carry = Carry::message;
    /// Of shared memory: users that a peer may belong to, besides our own and root.
    std::vector<uid_t> allowed_users;
    /// Of streams over a network: with these, both sides prove their identity; null: anyone is accepted. Beyond
    /// this machine's own addresses that is refused unless without_keys says that it is intended.
    std::shared_ptr<const StreamKeys> keys;
    bool without_keys = false;
    std::string ucx_tls;  ///< UCX_TLS for streams over UCX, e.g. "tcp"; empty: UCX chooses
    fabric::MakeFabric make_fabric = fabric::make_fabric;  ///< of streams over a network
    /// Asked some times a second while something waits; true: the wait ends as a timeout. Null: nobody asks.
    bool (*interrupted)() noexcept = nullptr;
};

void validate(const StreamConfig& config);  ///< Throws ConfigError.

}  // namespace anello::stream

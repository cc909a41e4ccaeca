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

/// The direction of the bytes, as seen from this side; the other side's must match.
enum class Direction : std::uint8_t { both, send, receive };

Direction parse_direction(const std::string& text);  ///< Throws ConfigError.
const char* name_of(Direction direction) noexcept;

/// How bytes are carried over a network. message: the other side chooses their destination as they arrive, fastest over
/// TCP. put: this side writes into the other side's ring without its help, for networks whose hardware does that.
enum class Carry : std::uint8_t { message, put };

Carry parse_carry(const std::string& text);  ///< Throws ConfigError.

struct StreamConfig {
    std::size_t ring_bytes = std::size_t{4} << 20;  ///< ring for receiving: a power of two
    /// A sender publishes, and a receiver gives space back, at least this often within one call.
    std::size_t grain_bytes = 256 * 1024;
    /// A peer that requires a larger ring to be mapped is refused.
    std::size_t max_peer_ring_bytes = std::size_t{1} << 30;
    Direction direction = Direction::both;
    WaitMode wait = WaitMode::spin_then_sleep;
    Nanoseconds spin_ns = 50'000;              ///< of spin_then_sleep
    Nanoseconds connect_ns = 5'000'000'000;    ///< connect(): limit until a process listens and has answered
    Nanoseconds handshake_ns = 1'000'000'000;  ///< accept(): limit for a silent peer
    /// For streams over a network: after this time of silence a peer counts as dead (a cut cable), and after our end,
    /// data that the peer has not taken by then is given up.
    Nanoseconds peer_timeout_ns = 5'000'000'000;
    Carry carry = Carry::message;
    /// For shared memory: users that a peer may belong to, besides our own and root.
    std::vector<uid_t> allowed_users;
    /// For streams over a network: with keys, both sides prove their identity; null: anyone is accepted. Without keys,
    /// addresses of other machines are refused unless without_keys confirms them.
    std::shared_ptr<const StreamKeys> keys;
    bool without_keys = false;
    std::string ucx_tls;  ///< UCX_TLS for streams over UCX, e.g. "tcp"; empty: UCX chooses
    fabric::MakeFabric make_fabric = fabric::make_fabric;  ///< for streams over a network
    /// Called some times a second during a wait; if it returns true, the wait ends as a timeout. Null: not called.
    bool (*interrupted)() noexcept = nullptr;
};

void validate(const StreamConfig& config);  ///< Throws ConfigError.

}  // namespace anello::stream

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"
#include "stream/ring/shared_ends.hpp"
#include "stream/stream_config.hpp"

namespace anello::stream {

/// Why two sides do not connect. The last packet of a handshake has its number; 0: ready.
enum class Refusal : std::uint8_t { none, silent, gone, malformed, version, direction, ring, user, key };

/// Thrown to end a handshake early.
struct Refused {
    Refusal refusal;
    std::string reason;
};

inline constexpr std::uint32_t hello_sends = 1, hello_receives = 2;  ///< flags of a hello
std::uint32_t flags_of(Direction direction) noexcept;
/// Throws Refused if the other side's flags do not match our direction.
void agree_on_direction(std::uint32_t flags, Direction own);

/// The last packet of a handshake.
struct Verdict {
    std::uint64_t magic = magic_of("ANELSTRM");
    std::uint64_t refusal = 0;  ///< a Refusal
};
static_assert(sizeof(Verdict) == 16);

struct StreamEnds {
    std::unique_ptr<SendEnd> send;        ///< null: this side does not send
    std::unique_ptr<ReceiveEnd> receive;  ///< null: this side does not receive
};

struct Handshake {
    Refusal refusal = Refusal::none;
    std::string reason;  ///< for the operator
    StreamEnds hands;
};

/// The same on both sides: make the own ring, send a hello with it, receive the other hello, map its ring, agree.
/// Throws ConfigError and SystemError for errors of this side; errors of the peer are in the result.
Handshake shake_hands(Descriptor socket, const StreamConfig& config, Nanoseconds deadline_ns);

}  // namespace anello::stream

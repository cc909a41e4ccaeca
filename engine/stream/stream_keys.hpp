// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"

namespace anello::stream {

using Key = std::array<std::uint8_t, 32>;

/// The keys by which the two sides of a stream over a network prove their identity: pairs of X25519, as in ZeroMQ's
/// CURVE.
struct StreamKeys {
    Key own_public{}, own_secret{};
    std::vector<Key> allowed;  ///< public keys that the other end may have
};

enum class FabricSide : std::uint8_t { listener, connector };

using Tag = std::array<std::uint8_t, 32>;

/// The common secret of two sides that have proved their keys. It makes and checks tags of their messages, valid only
/// between these sides and for this connection.
class Session {
  public:
    /// Exchanges key hellos over a TCP connection (docs/reference/stream-layout.md). Throws Refused.
    static Session open(const Descriptor& control, FabricSide side, const StreamKeys& keys, Nanoseconds deadline_ns);

    Tag tag_of(std::span<const std::byte> own_words) const;
    bool is_genuine(const Tag& tag, std::span<const std::byte> their_words) const;

  private:
    Key own_{}, theirs_{};
};

/// Makes a pair from the system's random numbers.
StreamKeys make_keys();

}  // namespace anello::stream

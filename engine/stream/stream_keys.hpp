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

/// By which the two sides of a stream over a network know each other: pairs of X25519, the same as ZeroMQ's CURVE has.
struct StreamKeys {
    Key own_public{}, own_secret{};
    std::vector<Key> allowed;  ///< public keys of those who may be at the other end
};

enum class FabricSide : std::uint8_t { listener, connector };

using Tag = std::array<std::uint8_t, 32>;

/// What two sides that have proved their keys share: words of each side get a tag that the other side alone can check,
/// and that is of this connection alone.
class Session {
  public:
    /// Says and hears key hellos over a TCP connection (docs/reference/stream-layout.md). Throws Refused.
    static Session open(const Descriptor& control, FabricSide side, const StreamKeys& keys, Nanoseconds deadline_ns);

    Tag tag_of(std::span<const std::byte> own_words) const;
    bool is_genuine(const Tag& tag, std::span<const std::byte> their_words) const;

  private:
    Key own_{}, theirs_{};
};

/// A pair made of the system's randomness.
StreamKeys make_keys();

}  // namespace anello::stream

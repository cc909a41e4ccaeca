// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/words.hpp"

namespace anello::exchange {

/// Which side initiates the transfer of a multi-event packet, and in which order. push: the manager notifies the
/// readout units which builder gets a packet; they send it at once. pull: the manager notifies the builder; it
/// requests the parts from the readout units when it has room. shift: the manager assigns whole rounds, one packet per
/// builder; each readout unit starts its round at the builder after itself, so that no two send to the same one at a
/// time.
enum class Protocol : std::uint8_t { push, pull, shift };

const char* name_of(Protocol protocol) noexcept;

}  // namespace anello::exchange

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<exchange::Protocol>{"push", "pull", "shift"};

}  // namespace anello

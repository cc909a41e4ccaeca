// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/verdict.hpp"

namespace anello::receive {

/// A packet of a format in which boards number their packets: 0, 1, 2, ... from the start of the run.
struct NumberedPacket {
    std::uint32_t board = 0;     ///< counted from 0
    std::uint32_t sequence = 0;  ///< of this board's packets
    std::span<const std::byte> content;
};

/// The format's parser: returns a verdict for any bytes, and fills the packet if it is ok.
/// Hot path: no allocation, no lock, no log, no throw.
using ParsePacket = wire::Verdict (*)(std::span<const std::byte> datagram, NumberedPacket& packet) noexcept;

}  // namespace anello::receive

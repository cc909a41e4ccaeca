// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

/// How long the datagram is that begins here, as its own header says; 0: no such header. With it, datagrams that were
/// captured as one can be taken apart. Hot path: no allocation, no lock, no log, no throw.
namespace anello::wire {

std::size_t mgp_datagram_bytes(std::span<const std::byte> bytes) noexcept;
std::size_t mep_datagram_bytes(std::span<const std::byte> bytes) noexcept;
std::size_t camera_datagram_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace anello::wire

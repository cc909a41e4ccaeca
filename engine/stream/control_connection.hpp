// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"

namespace anello::stream {

/// The TCP connection by which the sides of a stream over a network find each other. Neither waits for a peer beyond
/// the deadline (monotonic).

/// Small enough that the first bytes of a connection find room at once. False: they did not, or the peer is gone.
bool send_all(const Descriptor& control, std::span<const std::byte> bytes) noexcept;
/// Throws Refused: silent, gone.
void receive_all(const Descriptor& control, std::span<std::byte> room, Nanoseconds deadline_ns);

[[noreturn]] void refuse_silent();
[[noreturn]] void refuse_gone();

}  // namespace anello::stream

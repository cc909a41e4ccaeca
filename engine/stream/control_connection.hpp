// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"

namespace anello::stream {

/// The TCP connection for the set-up of a stream over a network. Sending and receiving wait for the peer at most until
/// the deadline (monotonic).

/// Sends the first bytes of a connection, few enough to fit into the socket at once. Returns false if they did not fit
/// or the peer has died.
bool send_all(const Descriptor& control, std::span<const std::byte> bytes) noexcept;
/// Throws Refused: silent, gone.
void receive_all(const Descriptor& control, std::span<std::byte> room, Nanoseconds deadline_ns);

[[noreturn]] void refuse_silent();
[[noreturn]] void refuse_gone();

}  // namespace anello::stream

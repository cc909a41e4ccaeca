// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"

namespace anello::stream {

/// The unix socket (packets) by which the two sides of a stream find each other, hand descriptors over, and see each
/// other's end. `address` is a path, or a name without a place in the file system behind '@'. All of it is set-up.

/// Listens; a socket file that nobody listens at any more is replaced. Throws ConfigError and SystemError.
Descriptor listen_at(const std::string& address);
/// Tries until somebody listens, or the deadline (monotonic) has come. Throws ConfigError and SystemError.
Descriptor connect_to(const std::string& address, Nanoseconds deadline_ns);
/// The next stranger, or none until the deadline.
Descriptor accept_one(const Descriptor& listening, Nanoseconds deadline_ns);
bool of_same_user(const Descriptor& socket) noexcept;
void unlink_address(const std::string& address) noexcept;

enum class PacketStatus : std::uint8_t { ok, silent, gone, malformed };

/// Sends one packet, with descriptors. False: the other side is gone.
bool send_packet(const Descriptor& socket, std::span<const std::byte> packet,
                 std::span<const int> descriptors) noexcept;
/// Takes one packet of exactly this size with exactly n_descriptors, before the deadline; those of others are closed.
PacketStatus receive_packet(const Descriptor& socket, std::span<std::byte> packet, std::vector<Descriptor>& descriptors,
                            Nanoseconds deadline_ns);

}  // namespace anello::stream

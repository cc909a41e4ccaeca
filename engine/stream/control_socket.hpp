// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

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
/// Lets all users reach a socket file: their identity is checked when they connect.
void let_users_knock(const std::string& address);
/// Tries until somebody listens, or the deadline (monotonic) has come. Throws ConfigError and SystemError.
Descriptor connect_to(const std::string& address, Nanoseconds deadline_ns);
/// The next stranger, or none until the deadline.
Descriptor accept_one(const Descriptor& listening, Nanoseconds deadline_ns);
/// Whether the process at the other end, which connected or listens, is of our own user, of root, or of one of these.
bool of_known_user(const Descriptor& socket, std::span<const uid_t> allowed) noexcept;
bool is_known_user(uid_t user, std::span<const uid_t> allowed) noexcept;
/// Readable when that process has ended (pidfd). Closed if it is ourselves or unknown, or without kernel support.
Descriptor open_process(pid_t process) noexcept;
void unlink_address(const std::string& address) noexcept;

enum class PacketStatus : std::uint8_t { ok, silent, gone, malformed };

/// What accompanies a packet's bytes.
struct Attached {
    std::vector<Descriptor> descriptors;
    // The sender, as the kernel says, not the listener or connector, since a server may fork. 0: unknown.
    pid_t process = 0;
    uid_t user = 0;
};

/// Sends one packet, with descriptors and our credentials. False: the other side is gone, or does not read.
bool send_packet(const Descriptor& socket, std::span<const std::byte> packet,
                 std::span<const int> descriptors) noexcept;
/// Takes one packet of exactly this size, before the deadline.
PacketStatus receive_packet(const Descriptor& socket, std::span<std::byte> packet, Attached& attached,
                            Nanoseconds deadline_ns);

}  // namespace anello::stream

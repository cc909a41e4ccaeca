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

/// The unix socket (packets) that two sides of a stream use to find each other, to pass descriptors, and to notice each
/// other's end. `address` is a path, or '@' and a name outside of the file system. All of it is set-up.

/// Listens; replaces a socket file on which no process listens any more. Throws ConfigError and SystemError.
Descriptor listen_at(const std::string& address);
/// Gives all users access to a socket file, because their identity is checked when they connect.
void let_users_knock(const std::string& address);
/// Retries until a process listens, or the deadline (monotonic) has passed. Throws ConfigError and SystemError.
Descriptor connect_to(const std::string& address, Nanoseconds deadline_ns);
/// The next connection, or none until the deadline.
Descriptor accept_one(const Descriptor& listening, Nanoseconds deadline_ns);
/// True if the process at the other end, which connected or listens, belongs to our own user, to root, or to an allowed
/// user.
bool of_known_user(const Descriptor& socket, std::span<const uid_t> allowed) noexcept;
bool is_known_user(uid_t user, std::span<const uid_t> allowed) noexcept;
/// Readable when that process has ended (pidfd). Closed if it is this process or unknown, or without kernel support.
Descriptor open_process(pid_t process) noexcept;
void unlink_address(const std::string& address) noexcept;

enum class PacketStatus : std::uint8_t { ok, silent, gone, malformed };

/// What a packet carries in addition to its bytes.
struct Attached {
    std::vector<Descriptor> descriptors;
    // The sending process according to the kernel, which may be a fork of the one that listens or connected. 0:
    // unknown.
    pid_t process = 0;
    uid_t user = 0;
};

/// Sends one packet with descriptors and our credentials. Returns false if the peer has died, or does not read.
bool send_packet(const Descriptor& socket, std::span<const std::byte> packet,
                 std::span<const int> descriptors) noexcept;
/// Receives one packet of exactly this size before the deadline.
PacketStatus receive_packet(const Descriptor& socket, std::span<std::byte> packet, Attached& attached,
                            Nanoseconds deadline_ns);

}  // namespace anello::stream

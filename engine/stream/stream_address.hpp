// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"

namespace anello::stream {

/// The address of a stream's listener: a path or @name ("shm://" may precede it), or TRANSPORT://HOST:PORT for a stream
/// over that transport of the fabric.
struct StreamAddress {
    std::optional<fabric::Transport> transport;  ///< none: shared memory
    std::string place;                           ///< for shared memory: the path or @name
    std::uint32_t ipv4 = 0;                      ///< for the others, in network byte order like `port`
    std::uint16_t port = 0;
};

StreamAddress parse_address(const std::string& text);  ///< Throws ConfigError.
std::string to_text(const StreamAddress& address);
bool is_loopback(const StreamAddress& address) noexcept;  ///< With a transport: only this machine reaches it.

/// For an address with a transport: a listening TCP socket; sets the port in `address` if it was 0. Throws SystemError.
Descriptor listen_on(StreamAddress& address);
/// Retries until a process listens, or the deadline (monotonic) has passed. Throws SystemError.
Descriptor connect_to(const StreamAddress& address, Nanoseconds deadline_ns);
/// The IPv4 address at which the other side of this connection reaches this one.
std::string own_host(const Descriptor& connection);

}  // namespace anello::stream

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"

namespace anello::stream {

/// Where a stream is listened for: a path or @name ("shm://" may stand before it), or TRANSPORT://HOST:PORT for a
/// stream over that transport of the fabric.
struct StreamAddress {
    std::optional<fabric::Transport> transport;  ///< none: shared memory
    std::string place;                           ///< of shared memory: the path or @name
    std::uint32_t ipv4 = 0;                      ///< of the others; in the order of the network, as `port`
    std::uint16_t port = 0;
};

StreamAddress parse_address(const std::string& text);  ///< Throws ConfigError.
std::string to_text(const StreamAddress& address);
bool is_loopback(const StreamAddress& address) noexcept;  ///< Of one with a transport: only this machine reaches it.

/// Of an address with a transport: a TCP socket that listens; `address` gets the port where it was 0. Throws
/// SystemError.
Descriptor listen_on(StreamAddress& address);
/// Tries until somebody listens, or the deadline (monotonic) has come. Throws SystemError.
Descriptor connect_to(const StreamAddress& address, Nanoseconds deadline_ns);
/// The IPv4 address by which this connection's other side reaches us.
std::string own_host(const Descriptor& connection);

}  // namespace anello::stream

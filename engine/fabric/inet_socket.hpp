// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"

namespace anello::fabric {

/// Throws ConfigError if `host` is no IPv4 address, or is 0.0.0.0 (all interfaces).
in_addr parse_host(const std::string& host);
/// Opens a non-blocking socket bound to the host and port of `config`. `type` is SOCK_STREAM, for a socket that
/// listens, or SOCK_DGRAM. Throws ConfigError and SystemError.
Descriptor open_bound_socket(const FabricConfig& config, int type);
/// Requests the buffer sizes of `config` in both directions; the system may grant less.
void size_buffers(int descriptor, const FabricConfig& config) noexcept;
std::size_t granted_bytes(int descriptor, int option) noexcept;  ///< `option`: SO_SNDBUF or SO_RCVBUF

sockaddr_in local_address(int descriptor) noexcept;
sockaddr_in make_socket_address(std::uint32_t ipv4, std::uint16_t port) noexcept;  ///< both in network byte order
bool same_address(const sockaddr_in& one, const sockaddr_in& other) noexcept;
std::string to_text(const sockaddr_in& address);

}  // namespace anello::fabric

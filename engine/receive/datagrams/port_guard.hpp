// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "receive/datagrams/udp_socket.hpp"

namespace anello::receive {

/// Holds a UDP port in the kernel's stack while its datagrams are received by another way: no other program can listen
/// there, the kernel does not answer senders with "port unreachable", and nothing is queued. It counts datagrams that
/// reach the stack.
class PortGuard {
  public:
    /// Port 0: any free one. `gro` allows the system to make super-packets for this port. Throws ConfigError,
    /// SystemError.
    PortGuard(const std::string& address, std::uint16_t port, bool gro, const GroupConfig& group = {});

    std::uint16_t port() const noexcept { return socket_.port(); }
    /// Datagrams that reached the stack, including those sent as fragments. Costs a system call.
    std::uint64_t n_refused() const noexcept { return socket_.n_dropped(); }

  private:
    UdpSocket socket_;
};

}  // namespace anello::receive

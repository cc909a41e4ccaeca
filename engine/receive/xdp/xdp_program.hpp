// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernel_handle.hpp"
#include "receive/xdp/shared_mapping.hpp"

namespace anello::receive {

enum class XdpAttachment : std::uint8_t {
    native,   ///< in the driver, before the kernel makes a packet
    generic,  ///< in the kernel's stack; works with every interface
};

/// The program that the kernel runs for each frame of an interface. It redirects whole UDP datagrams over IPv4 (up to
/// two VLAN tags, any IP options) for the given ports to the AF_XDP socket of their queue, and counts them by port. All
/// other frames go to the stack as usual, also fragments of IP packets, and frames of queues without a socket.
class XdpProgram {
  public:
    /// `destination` is in network byte order, 0: any. `pieces`: frames may be in several buffers. Throws SystemError.
    XdpProgram(std::uint32_t destination, std::uint32_t n_queues, bool pieces);

    void add_port(std::uint16_t port) noexcept { ports_[port].ours = 1; }
    void add_socket(std::uint32_t queue, int socket);  ///< Throws SystemError.
    /// Attached until the end of this object or of the process. Throws SystemError.
    void attach(std::uint32_t interface_index, XdpAttachment attachment);

    /// Datagrams for this port that were redirected so far, including those for which the socket had no room.
    std::uint64_t n_handed_on(std::uint16_t port) const noexcept;

  private:
    /// An element of the map that the program and this process share.
    struct Port {
        std::uint64_t n_handed_on;
        std::uint32_t ours, unused;
    };

    Descriptor ports_map_, sockets_map_, program_, link_;
    SharedMapping shared_ports_;
    Port* ports_ = nullptr;
};

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernel_handle.hpp"
#include "receive/xdp/shared_mapping.hpp"

namespace anello::receive {

enum class XdpAttachment : std::uint8_t {
    native,   ///< in the driver, before the kernel makes a packet of its own
    generic,  ///< in the kernel's stack: works with every interface
};

/// The program that the kernel runs for each frame of an interface. It hands whole UDP datagrams over IPv4 (up to two
/// VLAN tags, any IP options) to the given ports on to the AF_XDP socket of the queue they came in by, and counts them
/// by port. All else goes its usual way, also fragments of IP packets, and frames of queues without a socket.
class XdpProgram {
  public:
    /// `destination` in the order of the network, 0: any. `pieces`: frames may lie in several buffers.
    /// Throws SystemError.
    XdpProgram(std::uint32_t destination, std::uint32_t n_queues, bool pieces);

    void add_port(std::uint16_t port) noexcept { ports_[port].ours = 1; }
    void add_socket(std::uint32_t queue, int socket);  ///< Throws SystemError.
    /// From here to the end of this object, or of the process. Throws SystemError.
    void attach(std::uint32_t interface_index, XdpAttachment attachment);

    /// Datagrams to this port that were handed on so far, also those that the socket then had no room for.
    std::uint64_t n_handed_on(std::uint16_t port) const noexcept;

  private:
    /// One element of the map that the program and this process share.
    struct Port {
        std::uint64_t n_handed_on;
        std::uint32_t ours, unused;
    };

    Descriptor ports_map_, sockets_map_, program_, link_;
    SharedMapping shared_ports_;
    Port* ports_ = nullptr;
};

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/port_guard.hpp"

#include <fmt/format.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/errors.hpp"

namespace anello::receive {

PortGuard::PortGuard(const std::string& address, std::uint16_t port, bool gro, const GroupConfig& group)
    : socket_(
          UdpSocketConfig{.address = address, .group = group, .port = port, .gro = gro, .receive_buffer_bytes = 4096}) {
    sock_filter refuse_all[]{{BPF_RET | BPF_K, 0, 0, 0}};
    const sock_fprog filter{1, refuse_all};
    if (setsockopt(socket_.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
        throw SystemError(fmt::format("cannot guard UDP port {}", socket_.port()), errno,
                          "Set receive.backend = \"socket\".");
}

}  // namespace anello::receive

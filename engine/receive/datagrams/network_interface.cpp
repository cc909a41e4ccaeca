// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/network_interface.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

std::uint32_t receive_queues(int any_socket, ifreq request) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    request.ifr_data = reinterpret_cast<char*>(&channels);
    if (ioctl(any_socket, SIOCETHTOOL, &request) != 0) return 1;
    return std::max(1U, channels.rx_count + channels.combined_count);
}

}  // namespace

NetworkInterface find_interface(const std::string& name, const char* key) {
    ifreq request{};
    if (name.empty() || name.size() >= sizeof request.ifr_name || if_nametoindex(name.c_str()) == 0)
        throw ConfigError(key, "must be a network interface of this machine", name, "`ip -brief link` lists them.");
    std::memcpy(request.ifr_name, name.data(), name.size());
    const int any_socket = socket(AF_INET, SOCK_DGRAM, 0);
    if (any_socket < 0) throw SystemError("cannot ask about network interfaces", errno, "Raise `ulimit -n`.");
    NetworkInterface found{.name = name,
                           .index = if_nametoindex(name.c_str()),
                           .mtu_bytes = 1500,
                           .is_loopback = false,
                           .n_receive_queues = receive_queues(any_socket, request)};
    if (ioctl(any_socket, SIOCGIFMTU, &request) == 0) found.mtu_bytes = static_cast<std::uint32_t>(request.ifr_mtu);
    if (ioctl(any_socket, SIOCGIFFLAGS, &request) == 0) found.is_loopback = (request.ifr_flags & IFF_LOOPBACK) != 0;
    close(any_socket);
    return found;
}

}  // namespace anello::receive

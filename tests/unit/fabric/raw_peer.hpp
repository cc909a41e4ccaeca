// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <span>
#include <vector>

#include "core/kernel_handle.hpp"
#include "fabric/peer_address.hpp"

/// Plain sockets that play a peer, or a stranger.
namespace anello::fabric::test {

template <typename T>
std::vector<std::byte> bytes_of(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

inline sockaddr_in loopback(std::uint16_t port_in_network_order) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = port_in_network_order;
    return address;
}

inline PeerAddress address_of(const Fabric& fabric, Peer peer, const FabricConfig& config) {
    return decode_address(fabric.address(), peer, config);
}

/// Number of descriptors that this process has open.
inline std::size_t n_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
/// Whether this process may open this number of descriptors.
inline bool may_open(rlim_t n_wanted) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, n_wanted));
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= n_wanted;
}

class RawSocket {
  public:
    explicit RawSocket(int type) : socket_(socket(AF_INET, type | SOCK_CLOEXEC, 0)) { EXPECT_TRUE(socket_.open()); }
    explicit RawSocket(Descriptor accepted) : socket_(std::move(accepted)) {}

    std::uint16_t bind_somewhere() {
        sockaddr_in address = loopback(0);
        socklen_t length = sizeof address;
        EXPECT_EQ(bind(number(), reinterpret_cast<sockaddr*>(&address), length), 0);
        EXPECT_EQ(getsockname(number(), reinterpret_cast<sockaddr*>(&address), &length), 0);
        return address.sin_port;
    }
    void connect_to(std::uint16_t port_in_network_order) {
        const sockaddr_in address = loopback(port_in_network_order);
        EXPECT_EQ(connect(number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    void send(std::span<const std::byte> bytes) {
        EXPECT_EQ(::send(number(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    template <typename T>
    T receive() {
        T value{};
        EXPECT_EQ(recv(number(), &value, sizeof value, MSG_WAITALL), static_cast<ssize_t>(sizeof value));
        return value;
    }
    bool ended() {
        std::byte byte;
        return recv(number(), &byte, 1, MSG_DONTWAIT) == 0;
    }
    bool readable() const {
        pollfd waiting{number(), POLLIN, 0};
        return poll(&waiting, 1, 0) == 1;
    }
    int number() const { return socket_.number(); }

  private:
    Descriptor socket_;
};

}  // namespace anello::fabric::test

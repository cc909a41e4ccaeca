// SPDX-License-Identifier: Apache-2.0
#include "fabric/inet_socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "core/errors.hpp"

namespace anello::fabric {
namespace {

constexpr int backlog = 1024;

std::string remedy_for(int error_number, std::uint16_t port) {
    switch (error_number) {
        case EADDRINUSE:
            return fmt::format(
                "Another program listens there: `ss -anp 'sport = :{}'` names it; port 0 takes a free one.", port);
        case EADDRNOTAVAIL:
            return "No interface of this machine has that address: `ip -4 addr` lists them.";
        case EACCES:
            return "Ports below 1024 need root or CAP_NET_BIND_SERVICE: use a higher port.";
        default:
            return "Choose another fabric.host or fabric.port.";
    }
}

}  // namespace

in_addr parse_host(const std::string& host) {
    in_addr address{};
    if (inet_pton(AF_INET, host.c_str(), &address) != 1 || address.s_addr == htonl(INADDR_ANY))
        throw ConfigError("fabric.host", "must be an IPv4 address that peers can reach", host,
                          "`ip -4 addr` lists those of this machine; 127.0.0.1 reaches this machine alone");
    return address;
}

Descriptor open_bound_socket(const FabricConfig& config, int type) {
    sockaddr_in address = make_socket_address(parse_host(config.host).s_addr, htons(config.port));
    Descriptor socket_(::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_.open())
        throw SystemError("cannot open a socket", errno, "Raise the limit of open files: `ulimit -n`.");
    // Accepted connections inherit the size, which TCP needs before it announces its receive window.
    size_buffers(socket_.number(), config);
    const int one = 1;  // lets a restarted process bind its port while old connections still linger
    if (type == SOCK_STREAM) setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        (type == SOCK_STREAM && listen(socket_.number(), backlog) != 0)) {
        const int error_number = errno;
        throw SystemError(fmt::format("cannot listen on {}", to_text(address)), error_number,
                          remedy_for(error_number, config.port));
    }
    return socket_;
}

/// PERF NOTE: 128 kB messages over loopback cost a tenth less with 512 KiB than with 4 MiB (fabric_bench,
/// messages/tcp).
void size_buffers(int descriptor, const FabricConfig& config) noexcept {
    const std::size_t suitable = config.transport == Transport::tcp ? std::size_t{512} << 10 : std::size_t{4} << 20;
    const int value = static_cast<int>(config.socket_buffer_bytes > 0 ? config.socket_buffer_bytes : suitable);
    for (const auto& [forced, asked] : {std::pair{SO_SNDBUFFORCE, SO_SNDBUF}, {SO_RCVBUFFORCE, SO_RCVBUF}})
        if (setsockopt(descriptor, SOL_SOCKET, forced, &value, sizeof value) != 0)
            setsockopt(descriptor, SOL_SOCKET, asked, &value, sizeof value);
}

std::size_t granted_bytes(int descriptor, int option) noexcept {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? static_cast<std::size_t>(value) : 0;
}

sockaddr_in local_address(int descriptor) noexcept {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
    return address;
}

sockaddr_in make_socket_address(std::uint32_t ipv4, std::uint16_t port) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ipv4;
    address.sin_port = port;
    return address;
}

bool same_address(const sockaddr_in& one, const sockaddr_in& other) noexcept {
    return one.sin_addr.s_addr == other.sin_addr.s_addr && one.sin_port == other.sin_port;
}

std::string to_text(const sockaddr_in& address) {
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), ntohs(address.sin_port));
}

}  // namespace anello::fabric

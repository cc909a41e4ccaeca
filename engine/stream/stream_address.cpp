// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>

#include "core/errors.hpp"
#include "fabric/inet_socket.hpp"

namespace anello::stream {
namespace {

constexpr int tcp_backlog = 1024;
constexpr int defer_seconds = 3600;  ///< the kernel limits it to its maximum
constexpr auto try_again_after = std::chrono::milliseconds(5);
const std::string scheme_end = "://";

[[noreturn]] void refuse(const std::string& text) {
    throw ConfigError(
        "address", "must be a path, @ and a name, or TRANSPORT://HOST:PORT with ucx or tcp, an IPv4 address and a port",
        text, "For example /run/my.stream, or ucx://192.168.1.2:7000");
}

fabric::Transport transport_of(const std::string& scheme, const std::string& text) {
    using fabric::Transport;
    for (const Transport transport : {Transport::ucx, Transport::tcp})
        if (scheme == fabric::name_of(transport)) return transport;
    refuse(text);
}

Descriptor make_tcp_socket() {
    Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.open()) throw SystemError("cannot make a socket", errno, "Raise the limit of open files: ulimit -n");
    return made;
}

/// Returns 0, or the error for which the connection was not made before the deadline.
int finish_connecting(const Descriptor& made, Nanoseconds deadline_ns) noexcept {
    const Nanoseconds left_ns = deadline_ns - SystemClock::instance().monotonic_ns();
    pollfd watched{made.number(), POLLOUT, 0};
    const auto left_ms = static_cast<int>(std::clamp<Nanoseconds>(left_ns / 1'000'000 + 1, 0, 1'000'000'000));
    if (poll(&watched, 1, left_ms) != 1) return ETIMEDOUT;
    int error = 0;
    socklen_t n_bytes = sizeof error;
    getsockopt(made.number(), SOL_SOCKET, SO_ERROR, &error, &n_bytes);
    return error;
}

}  // namespace

StreamAddress parse_address(const std::string& text) {
    const std::size_t end = text.find(scheme_end);
    const std::string scheme = end == std::string::npos ? "" : text.substr(0, end);
    const std::string rest = end == std::string::npos ? text : text.substr(end + scheme_end.size());
    if (end == std::string::npos || scheme == "shm") return {{}, rest, 0, 0};
    StreamAddress address{transport_of(scheme, text), {}, 0, 0};
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string::npos) refuse(text);
    in_addr host{};
    std::uint16_t port = 0;
    const auto [stopped, error] = std::from_chars(rest.data() + colon + 1, rest.data() + rest.size(), port);
    const bool good = inet_pton(AF_INET, rest.substr(0, colon).c_str(), &host) == 1 && error == std::errc() &&
                      stopped == rest.data() + rest.size();
    if (!good) refuse(text);
    address.ipv4 = host.s_addr;
    address.port = htons(port);
    return address;
}

std::string to_text(const StreamAddress& address) {
    if (!address.transport) return address.place;
    return fabric::name_of(*address.transport) + scheme_end +
           fabric::to_text(fabric::make_socket_address(address.ipv4, address.port));
}

bool is_loopback(const StreamAddress& address) noexcept {
    constexpr std::uint32_t loopback_net = 127;
    return ntohl(address.ipv4) >> 24 == loopback_net;
}

Descriptor listen_on(StreamAddress& address) {
    Descriptor listening = make_tcp_socket();
    const int one = 1;  // a restarted program can use its port again while old connections linger
    setsockopt(listening.number(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const sockaddr_in name = fabric::make_socket_address(address.ipv4, address.port);
    if (bind(listening.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
        listen(listening.number(), tcp_backlog) != 0)
        throw SystemError(fmt::format("cannot listen at {}", to_text(address)), errno,
                          "Choose another port (0: any free one), or an address that this machine has");
    // Peers send first, and accept() handles one after the other, so silent connections stay in the kernel.
    setsockopt(listening.number(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer_seconds, sizeof defer_seconds);
    address.port = fabric::local_address(listening.number()).sin_port;
    return listening;
}

Descriptor connect_to(const StreamAddress& address, Nanoseconds deadline_ns) {
    const sockaddr_in name = fabric::make_socket_address(address.ipv4, address.port);
    for (;;) {
        Descriptor made = make_tcp_socket();
        int error = connect(made.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ? 0 : errno;
        if (error == EINPROGRESS) error = finish_connecting(made, deadline_ns);
        if (error == 0) {
            const int one = 1;
            setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            return made;
        }
        const bool may_come = error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH;
        if (!may_come || SystemClock::instance().monotonic_ns() >= deadline_ns)
            throw SystemError(fmt::format("cannot connect to {}", to_text(address)), error,
                              "Start the side that listens there, or check its address");
        std::this_thread::sleep_for(try_again_after);
    }
}

std::string own_host(const Descriptor& connection) {
    const std::string text = fabric::to_text(fabric::local_address(connection.number()));
    return text.substr(0, text.find(':'));
}

}  // namespace anello::stream

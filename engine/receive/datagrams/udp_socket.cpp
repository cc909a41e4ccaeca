// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/udp_socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/errors.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/busy_poll.hpp"

namespace anello::receive {
namespace {

bool try_set(int descriptor, int level, int option, int value) noexcept {
    return setsockopt(descriptor, level, option, &value, sizeof value) == 0;
}

int get(int descriptor, int level, int option) noexcept {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, level, option, &value, &length) == 0 ? value : 0;
}

template <typename T>
T content_of(const cmsghdr& note) noexcept {
    T value;
    std::memcpy(&value, CMSG_DATA(&note), sizeof value);
    return value;
}

std::string remedy_for_bind(int error_number, const UdpSocketConfig& config) {
    switch (error_number) {
        case EADDRINUSE:
            return fmt::format("Another program listens there: `ss -ulpn 'sport = :{}'` names it.", config.port);
        case EACCES:
            return "Ports below 1024 need root or CAP_NET_BIND_SERVICE: use a higher port.";
        case EADDRNOTAVAIL:
            return "No interface of this machine has that address: `ip addr` lists them; 0.0.0.0 or :: means all.";
        case EINVAL:
            return "A link-local address needs its interface, too: fe80::1%eth0.";
        default:
            return "Choose another address or port.";
    }
}

/// A link-local address (fe80::, ff02::) needs an interface, which may follow it: "%eth1".
SocketAddress to_listen_on(const UdpSocketConfig& config) {
    const std::size_t at = config.address.find('%');
    SocketAddress address = parse_address(config.address.substr(0, at), config.port);
    if (address.family() == AF_UNSPEC)
        throw ConfigError("receive.host", "must be an IP address", config.address,
                          "Use 0.0.0.0 for all interfaces, or :: for IPv6, too.");
    if (address.family() != AF_INET6) return address;
    const std::string& link = at == std::string::npos ? config.group.interface : config.address.substr(at + 1);
    address.ip6.sin6_scope_id = link.empty() ? 0 : if_nametoindex(link.c_str());
    if (at != std::string::npos && address.ip6.sin6_scope_id == 0)
        throw ConfigError("receive.host", "must end with % and a network interface of this machine", config.address,
                          "`ip link` lists them.");
    return address;
}

}  // namespace

bool SocketAddress::is_group() const noexcept {
    return family() == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&ip6.sin6_addr) : IN_MULTICAST(ntohl(ip4.sin_addr.s_addr));
}

SocketAddress parse_address(const std::string& text, std::uint16_t port) {
    SocketAddress address;
    address.ip6.sin6_family = AF_UNSPEC;
    if (inet_pton(AF_INET, text.c_str(), &address.ip4.sin_addr) == 1) {
        address.ip4.sin_family = AF_INET;
        address.ip4.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, text.c_str(), &address.ip6.sin6_addr) == 1) {
        address.ip6.sin6_family = AF_INET6;
        address.ip6.sin6_port = htons(port);
    }
    return address;
}

UdpSocket::UdpSocket(const UdpSocketConfig& config)
    : descriptor_(socket(to_listen_on(config).family(), SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    if (descriptor_ < 0)
        throw SystemError("cannot open a UDP socket", errno, "Raise the limit of open files: `ulimit -n`.");
    try {
        grow_receive_buffer(config.receive_buffer_bytes);
        ask_for_notes(config);
        if (config.busy_poll_us > 0) busy_poll_error_ = ask_for_busy_poll(descriptor_, config.busy_poll_us);
        bind_to(config);
    } catch (...) {
        close(descriptor_);
        throw;
    }
}

UdpSocket::~UdpSocket() {
    if (descriptor_ >= 0) close(descriptor_);
}

UdpSocket::UdpSocket(UdpSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      port_(other.port_),
      has_gro_(other.has_gro_),
      last_error_(other.last_error_),
      busy_poll_error_(other.busy_poll_error_),
      receive_buffer_bytes_(other.receive_buffer_bytes_),
      n_dropped_(other.n_dropped_),
      last_system_count_(other.last_system_count_),
      n_errors_(other.n_errors_) {}

/// Does not set SO_REUSEADDR or SO_REUSEPORT, because a second listener would silently take datagrams away.
void UdpSocket::bind_to(const UdpSocketConfig& config) {
    SocketAddress address = to_listen_on(config);
    if (address.family() == AF_INET6 && config.address == "::")
        try_set(descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, 0);  // even if the system's default is 1
    socklen_t length = address.length();
    if (bind(descriptor_, address.get(), length) != 0) {
        const int error_number = errno;
        throw SystemError(fmt::format("cannot listen on UDP {} port {}", config.address, config.port), error_number,
                          remedy_for_bind(error_number, config));
    }
    getsockname(descriptor_, address.get(), &length);
    port_ = ntohs(address.family() == AF_INET6 ? address.ip6.sin6_port : address.ip4.sin_port);
    if (address.is_group()) join(address, config);
}

/// Only hosts that have joined a group get its datagrams. Bound to the group's address, the socket accepts no others.
void UdpSocket::join(const SocketAddress& group, const UdpSocketConfig& config) {
    const GroupConfig& how = config.group;
    const unsigned interface = how.interface.empty() ? 0 : if_nametoindex(how.interface.c_str());
    if (interface == 0 && !how.interface.empty())
        throw ConfigError("receive.group_interface", "must be a network interface of this machine, or empty",
                          how.interface, "`ip link` lists them.");
    const SocketAddress source = parse_address(how.source);
    if (!how.source.empty() && source.family() != group.family())
        throw ConfigError("receive.group_source", "must be an address as the group's is, or empty", how.source,
                          "Name the host that sends to the group, or leave it empty: any may.");
    group_source_req wanted{};
    wanted.gsr_interface = interface;
    std::memcpy(&wanted.gsr_group, &group, group.length());
    std::memcpy(&wanted.gsr_source, &source, source.length());
    group_req any{};
    any.gr_interface = interface;
    any.gr_group = wanted.gsr_group;
    const int level = group.family() == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
    const int result = how.source.empty()
                           ? setsockopt(descriptor_, level, MCAST_JOIN_GROUP, &any, sizeof any)
                           : setsockopt(descriptor_, level, MCAST_JOIN_SOURCE_GROUP, &wanted, sizeof wanted);
    if (result != 0)
        throw SystemError(fmt::format("cannot join the multicast group {}", config.address), errno,
                          "Name the interface of its datagrams in receive.group_interface; `sysctl "
                          "net.ipv4.igmp_max_memberships` shows how many ports may join.");
}

/// SO_RCVBUFFORCE exceeds the limit net.core.rmem_max, but needs CAP_NET_ADMIN.
void UdpSocket::grow_receive_buffer(std::size_t bytes) {
    if (bytes == 0 || bytes > largest_receive_buffer_bytes)
        throw ConfigError("receive.socket_buffer_bytes", "must be 1 byte to 1 GiB", std::to_string(bytes),
                          "64 to 256 MiB suit most rates.");
    const int value = static_cast<int>(bytes);
    if (!try_set(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, value)) try_set(descriptor_, SOL_SOCKET, SO_RCVBUF, value);
    receive_buffer_bytes_ = static_cast<std::size_t>(get(descriptor_, SOL_SOCKET, SO_RCVBUF));
}

void UdpSocket::ask_for_notes(const UdpSocketConfig& config) {
    const bool asked = !config.notes || (try_set(descriptor_, SOL_SOCKET, SO_RXQ_OVFL, 1) &&  //
                                         try_set(descriptor_, SOL_SOCKET, SO_TIMESTAMPNS, 1));
    if (!asked)
        throw SystemError("cannot make a UDP socket report drops and receive stamps", errno,
                          "Linux 2.6.33 or newer is needed.");
    has_gro_ = config.gro && try_set(descriptor_, SOL_UDP, UDP_GRO, 1);
}

unsigned UdpSocket::queue() const noexcept {
    return static_cast<unsigned>(get(descriptor_, SOL_SOCKET, SO_INCOMING_NAPI_ID));
}

std::size_t UdpSocket::receive(std::span<mmsghdr> messages) noexcept {
    const int n_messages =
        recvmmsg(descriptor_, messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT, nullptr);
    if (n_messages >= 0) return static_cast<std::size_t>(n_messages);
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        ++n_errors_;
        last_error_ = errno;
    }
    return 0;
}

ReceiveNotes UdpSocket::read_notes(msghdr& message) noexcept {
    ReceiveNotes notes;
    for (cmsghdr* note = CMSG_FIRSTHDR(&message); note != nullptr; note = CMSG_NXTHDR(&message, note)) {
        if (note->cmsg_level == SOL_UDP && note->cmsg_type == UDP_GRO) {
            notes.segment_bytes = static_cast<std::uint32_t>(content_of<int>(*note));
        } else if (note->cmsg_level == SOL_SOCKET && note->cmsg_type == SO_RXQ_OVFL) {
            note_dropped(content_of<std::uint32_t>(*note));
        } else if (note->cmsg_level == SOL_SOCKET && note->cmsg_type == SCM_TIMESTAMPNS) {
            const auto stamp = content_of<timespec>(*note);
            notes.kernel_ns = Nanoseconds{stamp.tv_sec} * 1'000'000'000 + stamp.tv_nsec;
        }
    }
    return notes;
}

void UdpSocket::note_dropped(std::uint32_t system_count) noexcept {
    n_dropped_ += static_cast<std::uint32_t>(system_count - last_system_count_);
    last_system_count_ = system_count;
}

std::uint64_t UdpSocket::n_dropped() const noexcept {
    std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
    socklen_t length = sizeof info;
    if (getsockopt(descriptor_, SOL_SOCKET, SO_MEMINFO, info.data(), &length) != 0 ||
        length <= SK_MEMINFO_DROPS * sizeof info[0])
        return n_dropped_;
    return n_dropped_ + static_cast<std::uint32_t>(info[SK_MEMINFO_DROPS] - last_system_count_);
}

}  // namespace anello::receive

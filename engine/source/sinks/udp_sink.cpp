// SPDX-License-Identifier: Apache-2.0
#include "source/sinks/udp_sink.hpp"

#include <netdb.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "core/errors.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace anello::source {
namespace {

constexpr std::size_t max_group_bytes = 65'507;    // the largest UDP payload
constexpr std::uint32_t max_group_datagrams = 64;  // UDP_MAX_SEGMENTS
constexpr int send_buffer_bytes = 4 << 20;

SendResult result_of_errno(int error) noexcept {
    switch (error) {
        case ECONNREFUSED:
            return SendResult::refused;
        case ENOBUFS:
        case ENOMEM:
        case EAGAIN:
            return SendResult::no_buffers;
        default:
            return SendResult::failed;
    }
}

/// Returns 0, or the error number of getaddrinfo.
int look_up(const std::string& host, int family, sockaddr_storage& address) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
    if (error != 0) return error;
    std::memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

[[noreturn]] void refuse(const BoardEndpoint& endpoint, const char* what, int error) {
    throw ConfigError("host", std::string("must have ") + what, endpoint.host + " (" + gai_strerror(error) + ")",
                      "Give a name that resolves, or an address such as 127.0.0.1");
}

/// The port has the same offset in both address families.
sockaddr_storage resolve_any(const BoardEndpoint& endpoint) {
    sockaddr_storage address{};
    if (look_up(endpoint.host, AF_INET, address) != 0)
        if (const int error = look_up(endpoint.host, AF_INET6, address); error != 0)
            refuse(endpoint, "an IP address", error);
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(endpoint.port);
    return address;
}

/// The address in the form ::ffff:a.b.c.d.
sockaddr_storage mapped(const sockaddr_storage& address) {
    const auto& ip4 = reinterpret_cast<const sockaddr_in&>(address);
    sockaddr_storage made{};
    auto& ip6 = reinterpret_cast<sockaddr_in6&>(made);
    ip6.sin6_family = AF_INET6;
    ip6.sin6_port = ip4.sin_port;
    ip6.sin6_addr.s6_addr[10] = ip6.sin6_addr.s6_addr[11] = 0xff;
    std::memcpy(&ip6.sin6_addr.s6_addr[12], &ip4.sin_addr, sizeof ip4.sin_addr);
    return made;
}

}  // namespace

Offload parse_offload(const std::string& text) {
    return parse_word<Offload>(text, "offload");
}

sockaddr_in resolve(const BoardEndpoint& endpoint) {
    sockaddr_storage found{};
    if (const int error = look_up(endpoint.host, AF_INET, found); error != 0)
        refuse(endpoint, "an IPv4 address", error);
    sockaddr_in address{};
    std::memcpy(&address, &found, sizeof address);
    address.sin_port = htons(endpoint.port);
    return address;
}

UdpSink::UdpSink(std::span<const BoardEndpoint> endpoints, Offload offload) : offload_(offload) {
    for (const BoardEndpoint& endpoint : endpoints) {
        if (endpoint.port == 0)
            throw ConfigError("ports", "must be 1 to 65535 for a sender", "0",
                              "Give the port that the node listens at");
        add_destination(resolve_any(endpoint));
    }
    map_to_one_family();
    open_socket();
}

/// One IPv6 socket then sends over both families.
void UdpSink::map_to_one_family() {
    const auto is_ip6 = [](const sockaddr_storage& address) { return address.ss_family == AF_INET6; };
    if (std::ranges::none_of(addresses_, is_ip6)) return;
    for (sockaddr_storage& address : addresses_)
        if (!is_ip6(address)) address = mapped(address);
}

void UdpSink::add_destination(const sockaddr_storage& address) {
    std::size_t stream = 0;
    while (stream < addresses_.size() && std::memcmp(&addresses_[stream], &address, sizeof address) != 0) ++stream;
    const bool is_new = stream == addresses_.size();
    destination_.push_back(is_new ? static_cast<std::uint32_t>(place_.size()) : destination_[stream]);
    addresses_.push_back(address);
    if (is_new) place_.push_back(0);
}

void UdpSink::open_socket() {
    const sa_family_t family = addresses_.empty() ? sa_family_t{AF_INET} : addresses_.front().ss_family;
    socket_ = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) throw SystemError("cannot open a socket to send from", errno, "Raise the limit of open files");
    // A small buffer only makes the sender wait, so that both failures may be ignored.
    if (setsockopt(socket_, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer_bytes, sizeof send_buffer_bytes) != 0)
        setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    const int no_segment = 0;  // probes for the option without changing anything
    if (offload_ == Offload::gso && setsockopt(socket_, SOL_UDP, UDP_SEGMENT, &no_segment, sizeof no_segment) != 0)
        offload_ = Offload::none;
}

UdpSink::~UdpSink() {
    if (socket_ >= 0) close(socket_);
}

void UdpSink::send(std::span<const OutgoingDatagram> datagrams, Nanoseconds, SendResult* results) noexcept {
    const std::uint32_t n_messages = make_groups(datagrams);
    for (std::uint32_t message = 0; message < n_messages; ++message) fill_message(message, datagrams);
    send_messages(n_messages, results);
}

/// Boards stay interleaved in their order; with gso, each destination's datagrams are grouped and keep their order.
std::uint32_t UdpSink::order_by_destination(std::span<const OutgoingDatagram> datagrams) noexcept {
    const auto n = static_cast<std::uint32_t>(datagrams.size());
    if (offload_ == Offload::none) {
        for (std::uint32_t i = 0; i < n; ++i) order_[i] = i;
        return n;
    }
    std::fill(place_.begin(), place_.end(), 0);
    for (const OutgoingDatagram& datagram : datagrams) ++place_[destination_[datagram.stream]];
    std::exclusive_scan(place_.begin(), place_.end(), place_.begin(), 0U);
    for (std::uint32_t i = 0; i < n; ++i) order_[place_[destination_[datagrams[i].stream]]++] = i;
    return n;
}

bool UdpSink::joins(const Group& group, std::span<const OutgoingDatagram> datagrams,
                    std::uint32_t next) const noexcept {
    const OutgoingDatagram& first = datagrams[order_[group.first]];
    const OutgoingDatagram& last = datagrams[order_[group.first + group.n_datagrams - 1]];
    const OutgoingDatagram& candidate = datagrams[order_[next]];
    const bool fits =
        (group.n_datagrams + 1) * first.bytes.size() <= max_group_bytes && group.n_datagrams < max_group_datagrams;
    return offload_ == Offload::gso && fits && destination_[candidate.stream] == destination_[first.stream] &&
           last.bytes.size() == first.bytes.size() && candidate.bytes.size() <= first.bytes.size();
}

std::uint32_t UdpSink::make_groups(std::span<const OutgoingDatagram> datagrams) noexcept {
    const std::uint32_t n_datagrams = order_by_destination(datagrams);
    std::uint32_t n_groups = 0;
    for (std::uint32_t i = 0; i < n_datagrams; ++i) {
        if (n_groups > 0 && joins(groups_[n_groups - 1], datagrams, i))
            ++groups_[n_groups - 1].n_datagrams;
        else
            groups_[n_groups++] = {i, 1};
    }
    return n_groups;
}

void UdpSink::fill_message(std::uint32_t message, std::span<const OutgoingDatagram> datagrams) noexcept {
    const Group& group = groups_[message];
    for (std::uint32_t i = group.first; i < group.first + group.n_datagrams; ++i) {
        const std::span<const std::byte> bytes = datagrams[order_[i]].bytes;
        pieces_[i] = {const_cast<std::byte*>(bytes.data()), bytes.size()};  // the kernel only reads
    }
    const OutgoingDatagram& first = datagrams[order_[group.first]];
    msghdr& header = messages_[message].msg_hdr;
    header = {};
    header.msg_name = &addresses_[first.stream];
    const bool is_ip6 = addresses_[first.stream].ss_family == AF_INET6;
    header.msg_namelen = is_ip6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    header.msg_iov = &pieces_[group.first];
    header.msg_iovlen = group.n_datagrams;
    if (group.n_datagrams == 1) return;
    header.msg_control = controls_[message].bytes.data();
    header.msg_controllen = controls_[message].bytes.size();
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment_bytes = static_cast<std::uint16_t>(first.bytes.size());
    std::memcpy(CMSG_DATA(control), &segment_bytes, sizeof segment_bytes);
}

void UdpSink::send_messages(std::uint32_t n_messages, SendResult* results) noexcept {
    std::uint32_t message = 0;
    while (message < n_messages) {
        const int n_sent = sendmmsg(socket_, &messages_[message], n_messages - message, 0);
        if (n_sent < 0 && errno == EINTR) continue;
        // The error concerns the first message of the call only; the other messages are tried again.
        if (n_sent <= 0) {
            set_results(groups_[message], result_of_errno(errno), results);
            ++message;
            continue;
        }
        for (const std::uint32_t end = message + static_cast<std::uint32_t>(n_sent); message < end; ++message)
            set_results(groups_[message], SendResult::sent, results);
    }
}

void UdpSink::set_results(const Group& group, SendResult result, SendResult* results) const noexcept {
    for (std::uint32_t i = group.first; i < group.first + group.n_datagrams; ++i) results[order_[i]] = result;
}

}  // namespace anello::source

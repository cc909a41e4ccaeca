// SPDX-License-Identifier: Apache-2.0
#include "rich/emit/udp_sink.hpp"

#include <netdb.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace anello::rich {
namespace {

sockaddr_in resolve(const UdpSinkConfig& config) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(config.host.c_str(), nullptr, &hints, &found);
    if (error != 0 || found == nullptr)
        throw ConfigError("emit.host", std::string("must be a host with an IPv4 address: ") + gai_strerror(error),
                          config.host, "Use an address such as 127.0.0.1.");
    sockaddr_in address{};
    std::memcpy(&address, found->ai_addr, sizeof address);
    freeaddrinfo(found);
    address.sin_port = htons(config.port);
    return address;
}

int open_socket() {
    const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        throw SystemError("cannot open a socket for primitives", errno, "Raise the limit of open files.");
    return descriptor;
}

}  // namespace

UdpSink::UdpSink(const UdpSinkConfig& config, const Clock& clock)
    : address_(resolve(config)), has_gso_(config.gso), last_probe_ns_(clock.monotonic_ns()), clock_(clock) {
    if (config.port == 0)
        throw ConfigError("emit.port", "must be 1 to 65535", "0", "Give the port that the receiver listens on.");
    descriptor_ = open_socket();
    // The probing socket is opened now or not at all; without it only the far end's errors are not known.
    probe_descriptor_ = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe_descriptor_ >= 0)
        connect(probe_descriptor_, reinterpret_cast<const sockaddr*>(&address_), sizeof address_);
    const int bytes = 4 << 20;
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    last_probe_ns_ -= probe_every_ns;  // the first datagram is already a probe
}

UdpSink::~UdpSink() {
    if (descriptor_ >= 0) close(descriptor_);
    if (probe_descriptor_ >= 0) close(probe_descriptor_);
}

void UdpSink::prepare_one(std::size_t index, std::span<const std::span<const std::byte>> run) noexcept {
    Message& message = messages_[index];
    message.n_datagrams = run.size();
    const std::byte* const end = run.back().data() + run.back().size();
    message.bytes = {const_cast<std::byte*>(run.front().data()), static_cast<std::size_t>(end - run.front().data())};
    msghdr& header = headers_[index].msg_hdr;
    header = {};
    header.msg_name = &address_;
    header.msg_namelen = sizeof address_;
    header.msg_iov = &message.bytes;
    header.msg_iovlen = 1;
    if (run.size() == 1) return;
    header.msg_control = message.control.data();
    header.msg_controllen = message.control.size();
    cmsghdr* const control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = IPPROTO_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment = static_cast<std::uint16_t>(run.front().size());
    std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
}

/// Makes one message for each series of contiguous datagrams of the same length; the last one may be shorter.
std::size_t UdpSink::prepare(std::span<const std::span<const std::byte>> datagrams) noexcept {
    std::size_t n_messages = 0;
    for (std::size_t first = 0; first < datagrams.size() && n_messages < max_messages;) {
        const std::size_t length = datagrams[first].size();
        const std::size_t most = has_gso_ ? std::min(max_segments, std::max<std::size_t>(1, 60'000 / length)) : 1;
        std::size_t n = 1;
        const auto may_join = [&](std::size_t next) {
            return n < most && next < datagrams.size() && datagrams[next].size() <= length &&
                   datagrams[next].data() == datagrams[next - 1].data() + length;
        };
        while (may_join(first + n))
            if (datagrams[first + n++].size() < length) break;
        prepare_one(n_messages++, datagrams.subspan(first, n));
        first += n;
    }
    return n_messages;
}

bool UdpSink::probe(std::span<const std::byte> datagram) noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (now_ns - last_probe_ns_ < probe_every_ns || probe_descriptor_ < 0) return false;
    last_probe_ns_ = now_ns;
    return ::send(probe_descriptor_, datagram.data(), datagram.size(), MSG_DONTWAIT) >= 0;
}

SendResult UdpSink::send(std::span<const std::span<const std::byte>> datagrams) noexcept {
    if (datagrams.empty()) return {};
    SendResult result;
    if (probe(datagrams.front())) result.n_taken = 1;
    const std::size_t n_messages = prepare(datagrams.subspan(result.n_taken));
    if (n_messages == 0) return result;
    const int n_sent = sendmmsg(descriptor_, headers_.data(), static_cast<unsigned>(n_messages), MSG_DONTWAIT);
    if (n_sent < 0) {
        result.error = errno;
        // A device without checksum offload cannot segment, so from now on each datagram is sent by itself.
        if (has_gso_ && messages_[0].n_datagrams > 1 && (errno == EINVAL || errno == EIO || errno == EOPNOTSUPP)) {
            has_gso_ = false;
            result.error = EINTR;
        }
        return result;
    }
    for (int i = 0; i < n_sent; ++i) result.n_taken += messages_[static_cast<std::size_t>(i)].n_datagrams;
    return result;
}

/// Checks only after a probe, because it needs a system call, and only a probe can cause an error.
int UdpSink::take_far_error() noexcept {
    int error = 0;
    socklen_t length = sizeof error;
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (now_ns - last_look_ns_ < look_every_ns) return 0;
    last_look_ns_ = now_ns;
    if (probe_descriptor_ < 0 || getsockopt(probe_descriptor_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return 0;
    return error;
}

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#include "rich/emit/primitive_listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"

namespace anello::rich {
namespace {

/// Returns a bound socket; closes it again when anything fails.
int bind_socket(const ListenerConfig& config, std::uint16_t& port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(config.port);
    if (inet_pton(AF_INET, config.address.c_str(), &address.sin_addr) != 1)
        throw ConfigError("address", "must be an IPv4 address", config.address, "Use 127.0.0.1 or 0.0.0.0.");
    const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        throw SystemError("cannot open a socket to listen for primitives", errno, "Raise the limit of open files.");
    const int buffer_bytes = 16 << 20;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof buffer_bytes) != 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    const int wanted = 1;  // a system without it delivers single datagrams, as usual
    setsockopt(descriptor, IPPROTO_UDP, UDP_GRO, &wanted, sizeof wanted);
    socklen_t length = sizeof address;
    if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        const int error = errno;
        close(descriptor);
        throw SystemError("cannot listen for primitives on " + config.address + ":" + std::to_string(config.port),
                          error, "Choose another port, or 0 to let the system choose.");
    }
    port = ntohs(address.sin_port);
    return descriptor;
}

/// Length of the datagrams in a message; the message's length when it is a single datagram.
std::size_t segment_bytes(msghdr& header, std::size_t length) noexcept {
    for (cmsghdr* note = CMSG_FIRSTHDR(&header); note != nullptr; note = CMSG_NXTHDR(&header, note)) {
        int segment = 0;
        if (note->cmsg_level != IPPROTO_UDP || note->cmsg_type != UDP_GRO) continue;
        std::memcpy(&segment, CMSG_DATA(note), sizeof segment);
        if (segment > 0) return static_cast<std::size_t>(segment);
    }
    return length;
}

}  // namespace

PrimitiveListener::PrimitiveListener(const ListenerConfig& config, CounterPage& page, const std::string& block_name,
                                     PrimitiveObserver* observer)
    : checker_(wire::KnownSources(config.source_id, config.n_sub_sources), page, block_name, observer),
      bytes_(std::make_unique<std::byte[]>(n_messages * message_bytes)),
      parts_{},
      controls_{},
      messages_{} {
    for (std::size_t i = 0; i < n_messages; ++i) {
        parts_[i] = {bytes_.get() + i * message_bytes, message_bytes};
        messages_[i].msg_hdr.msg_iov = &parts_[i];
        messages_[i].msg_hdr.msg_iovlen = 1;
    }
    descriptor_ = bind_socket(config, port_);
}

PrimitiveListener::~PrimitiveListener() {
    close(descriptor_);
}

std::size_t PrimitiveListener::do_work() noexcept {
    for (std::size_t i = 0; i < n_messages; ++i) {  // the kernel has written its lengths here
        messages_[i].msg_hdr.msg_control = controls_[i].bytes.data();
        messages_[i].msg_hdr.msg_controllen = control_bytes;
    }
    const int n = recvmmsg(descriptor_, messages_.data(), n_messages, MSG_DONTWAIT, nullptr);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) checker_.count_receive_error();
        return 0;
    }
    std::size_t n_checked = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) n_checked += check_message(i);
    return n_checked;
}

/// Checks a message and returns its number of datagrams. An empty message counts as one.
std::size_t PrimitiveListener::check_message(std::size_t index) noexcept {
    const std::span<const std::byte> message(bytes_.get() + index * message_bytes, messages_[index].msg_len);
    const std::size_t segment = segment_bytes(messages_[index].msg_hdr, message.size());
    std::size_t n_checked = 0, at = 0;
    do {
        checker_.check(message.subspan(at, std::min(segment, message.size() - at)));
        ++n_checked;
        at += segment;
    } while (at < message.size());
    return n_checked;
}

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "receive/datagrams/udp_socket.hpp"

namespace anello::receive::test {

/// A plain socket that sends to a port, of this machine if no address is given.
class UdpSender {
  public:
    explicit UdpSender(std::uint16_t port, const char* to = "127.0.0.1") {
        const SocketAddress address = parse_address(to, port);
        descriptor_ = socket(address.family(), SOCK_DGRAM, 0);
        EXPECT_EQ(connect(descriptor_, address.get(), address.length()), 0);
    }
    ~UdpSender() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    UdpSender(UdpSender&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    UdpSender& operator=(UdpSender&&) = delete;

    SourceAddress source() const {
        SocketAddress own;
        socklen_t length = sizeof own;
        EXPECT_EQ(getsockname(descriptor_, own.get(), &length), 0);
        return source_of(own);
    }
    void send(std::span<const std::byte> datagram) {
        EXPECT_EQ(::send(descriptor_, datagram.data(), datagram.size(), 0), static_cast<ssize_t>(datagram.size()));
    }
    /// Hands the system all of it as one super-packet of datagrams `segment_bytes` long (the last may be shorter).
    void send_super_packet(std::span<const std::byte> datagrams, std::uint16_t segment_bytes) {
        iovec vector{const_cast<std::byte*>(datagrams.data()), datagrams.size()};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof segment_bytes)] = {};
        msghdr message{};
        message.msg_iov = &vector;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* const note = CMSG_FIRSTHDR(&message);
        note->cmsg_level = SOL_UDP;
        note->cmsg_type = UDP_SEGMENT;
        note->cmsg_len = CMSG_LEN(sizeof segment_bytes);
        std::memcpy(CMSG_DATA(note), &segment_bytes, sizeof segment_bytes);
        EXPECT_EQ(sendmsg(descriptor_, &message, 0), static_cast<ssize_t>(datagrams.size()));
    }

  private:
    int descriptor_ = -1;
};

}  // namespace anello::receive::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <utility>

namespace anello::receive::test {

/// Puts Ethernet frames on an interface as they are. Needs root.
class RawSender {
  public:
    explicit RawSender(const char* interface) : descriptor_(socket(AF_PACKET, SOCK_RAW, 0)) {
        where_.sll_family = AF_PACKET;
        where_.sll_ifindex = static_cast<int>(if_nametoindex(interface));
    }
    ~RawSender() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    RawSender(RawSender&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), where_(other.where_) {}
    RawSender& operator=(RawSender&&) = delete;

    void send(std::span<const std::byte> frame) {
        EXPECT_EQ(sendto(descriptor_, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&where_),
                         sizeof where_),
                  static_cast<ssize_t>(frame.size()));
    }

  private:
    int descriptor_;
    sockaddr_ll where_{};
};

}  // namespace anello::receive::test

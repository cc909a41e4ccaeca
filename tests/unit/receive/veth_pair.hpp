// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "patience.hpp"

namespace anello::receive::test {

/// Two network namespaces without names, joined by a pair of virtual Ethernet devices with jumbo frames. While this
/// lives, the thread that made it is in the receiver's; all of it goes away with it, or with the process.
class VethPair {
  public:
    static constexpr const char* receiver_interface = "anello-take";
    static constexpr const char* sender_interface = "anello-send";
    static constexpr const char* receiver_address = "10.199.0.2";
    static constexpr std::size_t largest_datagram_bytes = 8972;

    /// Why there is none here; empty where there is.
    static std::string reason_to_skip() {
        if (geteuid() != 0) return "network namespaces need root";
        if (std::system("ip -Version > /dev/null 2>&1") != 0) return "there is no `ip` command (package iproute2)";
        const int here = this_namespace();
        const bool works = unshare(CLONE_NEWNET) == 0;
        const std::string reason = works ? "" : std::string("no network namespaces: ") + std::strerror(errno);
        if (works) setns(here, CLONE_NEWNET);
        close(here);
        return reason;
    }

    VethPair() : outside_(this_namespace()) {
        EXPECT_EQ(unshare(CLONE_NEWNET), 0);
        sender_ = this_namespace();
        EXPECT_EQ(unshare(CLONE_NEWNET), 0);
        receiver_ = this_namespace();
        setns(sender_, CLONE_NEWNET);
        ip("link add anello-send mtu 9000 address 02:00:00:00:00:01 type veth peer name anello-take mtu 9000 address "
           "02:00:00:00:00:02\n"
           "link set anello-take netns /proc/" +
           std::to_string(getpid()) + "/fd/" + std::to_string(receiver_) +
           "\n"
           "addr add 10.199.0.1/24 dev anello-send\n"
           "link set lo up\n"
           "link set anello-send up\n"
           "neigh add 10.199.0.2 lladdr 02:00:00:00:00:02 dev anello-send nud permanent\n");
        setns(receiver_, CLONE_NEWNET);
        ip("addr add 10.199.0.2/24 dev anello-take\n"
           "link set lo up\n"
           "link set anello-take up\n"
           "neigh add 10.199.0.1 lladdr 02:00:00:00:00:01 dev anello-take nud permanent\n");
        await_link(receiver_interface);
        setns(sender_, CLONE_NEWNET);
        await_link(sender_interface);
        setns(receiver_, CLONE_NEWNET);
    }
    ~VethPair() {
        setns(outside_, CLONE_NEWNET);
        for (const int space : {outside_, sender_, receiver_}) close(space);
    }
    VethPair(const VethPair&) = delete;
    VethPair& operator=(const VethPair&) = delete;

    /// Calls `make` in the sender's namespace: sockets stay in the namespace in which they were opened.
    template <typename Make>
    auto at_sender(Make&& make) const {
        setns(sender_, CLONE_NEWNET);
        auto made = make();
        setns(receiver_, CLONE_NEWNET);
        return made;
    }

  private:
    static int this_namespace() { return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); }
    static void ip(const std::string& lines) {
        FILE* const pipe = popen("ip -batch -", "w");
        ASSERT_NE(pipe, nullptr);
        std::fputs(lines.c_str(), pipe);
        EXPECT_EQ(pclose(pipe), 0) << lines;
    }

    /// The kernel notes in a thread of its own that a link is up, at most once a second if there are many; until then
    /// the device drops what it is given. Flags are set again to come after that thread, which holds the same lock.
    static void await_link(const char* interface) {
        const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ifreq request{};
        std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
        anello::test::comes_true([&] {
            EXPECT_EQ(ioctl(any, SIOCGIFFLAGS, &request), 0) << interface;
            return (request.ifr_flags & IFF_RUNNING) != 0;
        });
        EXPECT_EQ(ioctl(any, SIOCSIFFLAGS, &request), 0) << interface;
        close(any);
    }

    int outside_, sender_ = -1, receiver_ = -1;
};

}  // namespace anello::receive::test

// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/socket_backend.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "core/errors.hpp"
#include "patience.hpp"
#include "unit/receive/udp_sender.hpp"
#include "unit/receive/veth_pair.hpp"

namespace anello::receive::socket_backend_test {
namespace {

using test::UdpSender;
using test::VethPair;
using Bytes = std::vector<std::byte>;

SocketBackendConfig on_loopback(std::size_t n_ports) {
    return {.address = "127.0.0.1",
            .ports = std::vector<std::uint16_t>(n_ports, 0),
            .gro = false,
            .receive_buffer_bytes = 4 << 20};
}

/// A loopback delivers within the sender's call as a rule, but this is not promised.
void wait_for(const SocketBackend& backend, std::uint16_t stream) {
    pollfd interest{backend.socket(stream).descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&interest, 1, anello::test::patience_ms), 1);
}

/// Takes datagrams until none has come for a long time.
std::size_t take_all(SocketBackend& backend, std::vector<std::size_t>& n_per_stream) {
    std::vector<Datagram> batch(64);
    std::size_t n_taken = 0;
    for (int n_idle = 0; n_idle < 1000;) {
        const std::size_t n_datagrams = backend.receive(batch);
        n_idle = n_datagrams == 0 ? n_idle + 1 : 0;
        n_taken += n_datagrams;
        for (std::size_t i = 0; i < n_datagrams; ++i) ++n_per_stream[batch[i].stream];
    }
    return n_taken;
}

TEST(UdpSocket, CountsWhatTheSystemRefusesAndNotThatThereIsNothing) {
    UdpSocket socket({.address = "127.0.0.1", .receive_buffer_bytes = 1 << 20});
    iovec nowhere{nullptr, 100};
    mmsghdr message{};
    message.msg_hdr.msg_iov = &nowhere;
    message.msg_hdr.msg_iovlen = 1;
    EXPECT_EQ(socket.receive({&message, 1}), 0U);
    EXPECT_EQ(socket.n_errors(), 0U);
    UdpSender sender(socket.port());
    sender.send(Bytes(100));
    pollfd interest{socket.descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&interest, 1, anello::test::patience_ms), 1);
    EXPECT_EQ(socket.receive({&message, 1}), 0U);
    EXPECT_EQ(socket.n_errors(), 1U);
    EXPECT_EQ(socket.last_error(), EFAULT);
}

TEST(SocketBackend, ACallBringsAboutAsMuchAsItIsTold) {
    constexpr std::size_t n_sent = 40, n_bytes = 1000;
    SocketBackend backend(on_loopback(1));
    UdpSender sender(backend.port(0));
    std::vector<Datagram> batch(64);
    const auto most_at_once = [&](std::size_t n_before) {
        for (std::size_t i = 0; i < n_sent; ++i) sender.send(Bytes(n_bytes));
        std::size_t n_most = 0;
        for (std::size_t n_taken = 0; n_taken < n_sent;) {
            wait_for(backend, 0);
            const std::size_t n_now = backend.receive(batch);
            if (n_taken >= n_before) n_most = std::max(n_most, n_now);
            n_taken += n_now;
        }
        return n_most;
    };
    EXPECT_TRUE(backend.set_call_bytes(8 * n_bytes));
    EXPECT_LE(most_at_once(n_sent / 2), 8U) << "once it knows how long they are";
    EXPECT_LE(most_at_once(0), 8U);
    EXPECT_TRUE(backend.set_call_bytes(20 * n_bytes));
    EXPECT_LE(most_at_once(0), 20U);
    EXPECT_TRUE(backend.set_call_bytes(1));
    EXPECT_LE(most_at_once(20), 2U) << "two in any case";
}

TEST(SocketBackend, CountsWhatTheKernelDropped) {
    constexpr std::size_t n_sent = 200;
    SocketBackendConfig config = on_loopback(1);
    config.receive_buffer_bytes = 4096;
    SocketBackend backend(config);
    UdpSender sender(backend.port(0));
    const Bytes datagram(1000);
    for (std::size_t i = 0; i < n_sent; ++i) sender.send(datagram);
    std::vector<std::size_t> n_per_stream(1);
    wait_for(backend, 0);
    const std::size_t n_taken = take_all(backend, n_per_stream);
    EXPECT_GT(n_taken, 0U);
    EXPECT_LT(n_taken, n_sent);
    EXPECT_EQ(backend.kernel_dropped(0), n_sent - n_taken) << "though no later datagram reported them";
    sender.send(datagram);
    wait_for(backend, 0);
    EXPECT_EQ(take_all(backend, n_per_stream), 1U);
    EXPECT_EQ(backend.kernel_dropped(0), n_sent - n_taken) << "reported by that datagram, and not counted twice";
}

// --- Busy polling

int option(const UdpSocket& socket, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    EXPECT_EQ(getsockopt(socket.descriptor(), SOL_SOCKET, name, &value, &length), 0);
    return value;
}

SocketBackendConfig polling(std::size_t n_ports) {
    SocketBackendConfig config = on_loopback(n_ports);
    config.busy_poll_us = 50;
    return config;
}

/// Runs in a thread that has given up CAP_NET_ADMIN.
std::string words_without_privilege() {
    std::string words;
    std::thread([&] {
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        std::array<__user_cap_data_struct, 2> capabilities{};
        ASSERT_EQ(syscall(SYS_capget, &header, capabilities.data()), 0);
        capabilities[0].effective &= ~(1U << CAP_NET_ADMIN);
        ASSERT_EQ(syscall(SYS_capset, &header, capabilities.data()), 0);
        words = SocketBackend(polling(1)).describe();
    }).join();
    return words;
}

TEST(SocketBackend, AsksTheSystemToPollTheCardsQueue) {
    const SocketBackend backend(polling(2));
    if (backend.socket(0).busy_poll_error() == EPERM) GTEST_SKIP() << "needs CAP_NET_ADMIN";
    for (const std::uint16_t stream : {0, 1}) {
        EXPECT_EQ(option(backend.socket(stream), SO_BUSY_POLL), 50);
        EXPECT_EQ(option(backend.socket(stream), SO_PREFER_BUSY_POLL), 1);
    }
    struct {
        std::uint32_t busy_poll_us;
        std::uint16_t budget;
        std::uint8_t prefer, unused;
    } of_epoll{};  // the kernel's struct epoll_params
    if (ioctl(backend.descriptor(), _IOR(0x8a, 0x02, decltype(of_epoll)), &of_epoll) != 0) {
        EXPECT_THAT(backend.describe(), testing::HasSubstr("needs Linux 6.9"));
        return;
    }
    EXPECT_EQ(of_epoll.busy_poll_us, 50U);
    EXPECT_EQ(of_epoll.prefer, 1);
    EXPECT_THAT(backend.describe(), testing::HasSubstr("busy polling 50 us without effect so far"));
}

TEST(SocketBackend, DoesNotPollUnlessAsked) {
    const SocketBackend backend(on_loopback(1));
    EXPECT_EQ(option(backend.socket(0), SO_PREFER_BUSY_POLL), 0);
    EXPECT_THAT(backend.describe(), testing::Not(testing::HasSubstr("busy polling")));
}

TEST(SocketBackend, SaysThatPollingIsNotPermitted) {
    EXPECT_THAT(words_without_privilege(),
                testing::HasSubstr("busy polling refused: Operation not permitted (give the program CAP_NET_ADMIN)"));
}

TEST(SocketBackend, AFloodOnOnePortStarvesNoOther) {
    SocketBackend backend(on_loopback(3));
    UdpSender flood(backend.port(0)), first(backend.port(1)), second(backend.port(2));
    const Bytes datagram(100);
    for (int i = 0; i < 1000; ++i) flood.send(datagram);
    first.send(datagram);
    second.send(datagram);
    for (std::uint16_t i = 0; i < 3; ++i) wait_for(backend, i);
    std::vector<Datagram> batch(256);
    const std::size_t n_datagrams = backend.receive(batch);
    std::vector<std::size_t> n_per_stream(3);
    for (std::size_t i = 0; i < n_datagrams; ++i) ++n_per_stream[batch[i].stream];
    EXPECT_EQ(n_per_stream[1], 1U);
    EXPECT_EQ(n_per_stream[2], 1U);
    EXPECT_GT(n_per_stream[0], 10U);
}

TEST(SocketBackend, ManyPortsAllGetTheirTurn) {
    constexpr std::size_t n_ports = 40;
    SocketBackend backend(on_loopback(n_ports));
    for (std::uint16_t i = 0; i < n_ports; ++i) UdpSender(backend.port(i)).send(Bytes(i));
    std::vector<std::size_t> n_per_stream(n_ports);
    EXPECT_EQ(take_all(backend, n_per_stream), n_ports);
    EXPECT_THAT(n_per_stream, testing::Each(1U));
}

/// While more ports are busy than are read at once.
TEST(SocketBackend, APortBesideAFloodIsSeenToBeEmpty) {
    constexpr std::uint16_t n_ports = 12;
    SocketBackendConfig config = on_loopback(n_ports);
    config.batch_messages = 16;
    SocketBackend backend(config);
    std::vector<UdpSender> senders;
    for (std::uint16_t port = 0; port < n_ports; ++port) senders.emplace_back(backend.port(port));
    for (int i = 0; i < 200; ++i)
        for (std::uint16_t port = 1; port < n_ports; ++port) senders[port].send(Bytes(100));
    for (std::uint16_t port = 1; port < n_ports; ++port) wait_for(backend, port);
    std::vector<Datagram> batch(16);
    int n_seen = 0;
    for (int i = 0; i < 64; ++i) {
        backend.receive(batch);
        n_seen += backend.is_read(0) ? 1 : 0;
        for (std::uint16_t port = 1; port < n_ports; ++port) EXPECT_FALSE(backend.is_read(port)) << port;
    }
    EXPECT_GT(n_seen, 0);
}

TEST(SocketBackend, SplitsSuperPackets) {
    SocketBackendConfig config = on_loopback(1);
    config.gro = true;
    SocketBackend backend(config);
    if (!backend.socket(0).has_gro()) GTEST_SKIP() << "this kernel has no UDP_GRO";
    Bytes datagrams(20 * 1000 + 17);
    for (std::size_t i = 0; i < datagrams.size(); ++i) datagrams[i] = static_cast<std::byte>(i / 1000);
    UdpSender(backend.port(0)).send_super_packet(datagrams, 1000);
    wait_for(backend, 0);
    std::vector<Datagram> batch(64);
    const std::size_t n_datagrams = backend.receive(batch);
    ASSERT_EQ(n_datagrams, 21U);
    for (std::size_t i = 0; i < n_datagrams; ++i) {
        EXPECT_EQ(batch[i].bytes.size(), i < 20 ? 1000U : 17U);
        EXPECT_EQ(batch[i].bytes[0], static_cast<std::byte>(i));
        EXPECT_EQ(batch[i].kernel_ns, batch[0].kernel_ns);
    }
    EXPECT_EQ(backend.n_super_packets(0), 1U);
}

TEST(SocketBackend, StampsAreTheKernels) {
    SocketBackend backend(on_loopback(1));
    const Nanoseconds before_ns = SystemClock::instance().wall_ns();
    UdpSender(backend.port(0)).send(Bytes(10));
    wait_for(backend, 0);
    std::vector<Datagram> batch(2);
    ASSERT_EQ(backend.receive(batch), 1U);
    EXPECT_GE(batch[0].kernel_ns, before_ns);
    EXPECT_LE(batch[0].kernel_ns, SystemClock::instance().wall_ns());
}

TEST(SocketBackend, ADatagramLongerThanASlotIsDeliveredCut) {
    SocketBackendConfig config = on_loopback(1);
    config.max_datagram_bytes = 100;
    SocketBackend backend(config);
    UdpSender sender(backend.port(0));
    std::vector<Datagram> batch(4);
    sender.send(Bytes(101));
    wait_for(backend, 0);
    ASSERT_EQ(backend.receive(batch), 1U);
    EXPECT_TRUE(batch[0].cut);
    EXPECT_EQ(batch[0].bytes.size(), 100U);
    sender.send(Bytes(100));
    wait_for(backend, 0);
    ASSERT_EQ(backend.receive(batch), 1U);
    EXPECT_FALSE(batch[0].cut);
}

TEST(SocketBackend, APortInUseIsNamed) {
    SocketBackend first(on_loopback(1));
    SocketBackendConfig config = on_loopback(1);
    config.ports[0] = first.port(0);
    try {
        SocketBackend second(config);
        FAIL() << "two listeners on one port";
    } catch (const SystemError& error) {
        EXPECT_EQ(error.error_number(), EADDRINUSE);
        EXPECT_THAT(error.what(), testing::HasSubstr("port " + std::to_string(first.port(0))));
        EXPECT_THAT(error.what(), testing::HasSubstr("ss -ulpn"));
    }
}

/// Sends one datagram to the group by the loopback, from the host.
void send_to_group(const char* group, std::uint16_t port, const char* from) {
    const int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{}, to{};
    own.sin_family = to.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, from, &own.sin_addr), 1);
    EXPECT_EQ(inet_pton(AF_INET, group, &to.sin_addr), 1);
    to.sin_port = htons(port);
    EXPECT_EQ(bind(sender, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    ip_mreqn by{};
    by.imr_ifindex = static_cast<int>(if_nametoindex("lo"));
    EXPECT_EQ(setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by), 0);
    EXPECT_EQ(sendto(sender, "anello", 6, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to), 6);
    close(sender);
}

TEST(SocketBackend, AGroupsDatagramsComeAndWithASourceOnlyThatOnes) {
    constexpr const char* group = "239.1.2.3";
    for (const bool has_source : {false, true}) {
        SocketBackendConfig config = on_loopback(1);
        config.address = group;
        config.group = {.interface = "lo", .source = has_source ? "127.0.0.2" : ""};
        SocketBackend backend(config);
        for (const char* from : {"127.0.0.3", "127.0.0.2"}) send_to_group(group, backend.port(0), from);
        send_to_group("239.1.2.4", backend.port(0), "127.0.0.2");  // another group
        std::vector<Datagram> batch(8);
        std::vector<SourceAddress> from;
        anello::test::comes_true([&] {
            for (const Datagram& datagram : std::span(batch).first(backend.receive(batch)))
                from.push_back(datagram.source);
            return from.size() == (has_source ? 1U : 2U);
        });
        EXPECT_EQ(from.back().host(), 0x7f000002U);
        EXPECT_EQ(from.size(), has_source ? 1U : 2U);
        EXPECT_EQ(backend.receive(batch), 0U);
    }
}

TEST(SocketBackend, AllAddressesMeansBothFamilies) {
    SocketBackendConfig config = on_loopback(1);
    config.address = "::";
    SocketBackend backend(config);
    for (const char* to : {"127.0.0.1", "::1"}) {
        UdpSender sender(backend.port(0), to);
        sender.send(std::vector<std::byte>(5));
        std::vector<Datagram> batch(8);
        anello::test::comes_true([&] { return backend.receive(batch) == 1; });
        EXPECT_EQ(to_text(batch[0].source), to_text(sender.source())) << "of IPv4 as such";
    }
}

TEST(SocketBackend, AGroupOfIp6IsJoined) {
    if (const std::string reason = VethPair::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    const VethPair veth;
    const auto address = [](const char* interface, int host) {
        return std::system(fmt::format("ip addr add fd99::{}/64 dev {} nodad", host, interface).c_str());
    };
    if (address(VethPair::receiver_interface, 2) != 0) GTEST_SKIP() << "no IPv6 here";
    ASSERT_EQ(veth.at_sender([&] { return address(VethPair::sender_interface, 1); }), 0);
    for (const char* source : {"", "fd99::1"}) {
        SocketBackendConfig config = on_loopback(1);
        config.address = "ff15::7";
        config.group = {.interface = VethPair::receiver_interface, .source = source};
        SocketBackend backend(config);
        UdpSender sender = veth.at_sender([&] { return UdpSender(backend.port(0), "ff15::7"); });
        std::vector<Datagram> batch(8);
        anello::test::comes_true([&] {  // the first may be sent before the report of the group has come
            sender.send(std::vector<std::byte>(6));
            return backend.receive(batch) > 0;
        });
        EXPECT_EQ(batch[0].bytes.size(), 6U);
        EXPECT_EQ(to_text(batch[0].source), to_text(sender.source())) << source;
    }
}

TEST(SocketBackend, AGroupThatCannotBeJoinedIsRefused) {
    SocketBackendConfig config = on_loopback(1);
    config.address = "239.1.2.3";
    config.group.interface = "nonesuch0";
    EXPECT_THROW(SocketBackend{config}, ConfigError);
    EXPECT_THROW(SocketBackend({.address = "fe80::1%nonesuch0", .ports = {0}}), ConfigError);
    for (const char* source : {"somewhere", "::1"}) {
        config.group = {.interface = "lo", .source = source};
        EXPECT_THROW(SocketBackend{config}, ConfigError) << source;
    }
}

TEST(SocketBackend, WrongConfigurationsNameThemselves) {
    SocketBackendConfig config = on_loopback(1);
    config.address = "localhost:1";
    EXPECT_THROW(SocketBackend{config}, ConfigError);
    config.address = "192.0.2.1";  // of no machine
    EXPECT_THROW(SocketBackend{config}, SystemError);
    EXPECT_THROW(SocketBackend{on_loopback(0)}, ConfigError);
    config = on_loopback(1);
    config.batch_messages = 0;
    EXPECT_THROW(SocketBackend{config}, ConfigError);
    config = on_loopback(1);
    config.receive_buffer_bytes = 0;
    EXPECT_THROW(SocketBackend{config}, ConfigError);
}

}  // namespace
}  // namespace anello::receive::socket_backend_test

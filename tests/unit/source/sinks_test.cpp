// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "core/errors.hpp"
#include "source/random.hpp"
#include "source/sinks/pcap_sink.hpp"
#include "source/sinks/udp_sink.hpp"

namespace anello::source::sinks_test {
namespace {

/// A UDP socket on a free port of the loopback.
struct Receiver {
    Receiver() : socket(::socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        socklen_t length = sizeof address;
        EXPECT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
        port = ntohs(address.sin_port);
        const int buffer_bytes = 1 << 20;
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    }
    ~Receiver() { close(socket); }
    std::vector<std::byte> take() const {
        std::vector<std::byte> datagram(65536);
        const ssize_t n_bytes = recv(socket, datagram.data(), datagram.size(), MSG_DONTWAIT);
        datagram.resize(n_bytes < 0 ? 0 : static_cast<std::size_t>(n_bytes));
        return datagram;
    }
    int socket;
    std::uint16_t port = 0;
};

class UdpSinkWithOffload : public testing::TestWithParam<Offload> {};

TEST_P(UdpSinkWithOffload, DeliversEachDatagramToItsPort) {
    const Receiver receivers[2];
    const std::vector<BoardEndpoint> endpoints{{0, "127.0.0.1", receivers[0].port},
                                               {1, "localhost", receivers[1].port}};
    UdpSink sink(endpoints, GetParam());
    std::vector<std::vector<std::byte>> sent;
    std::vector<OutgoingDatagram> datagrams;
    Random random(7);
    for (std::uint32_t i = 0; i < 60; ++i) {
        const std::size_t n_bytes = i % 3 == 0 ? 1000 : 1 + random.below(1400);
        std::vector<std::byte>& bytes = sent.emplace_back(n_bytes, static_cast<std::byte>(i));
        datagrams.push_back({bytes, i % 7 < 3 ? 0U : 1U, 1});
    }
    std::vector<SendResult> results(60, SendResult::failed);
    sink.send(datagrams, 0, results.data());
    for (std::uint32_t i = 0; i < 60; ++i) {
        EXPECT_EQ(results[i], SendResult::sent);
        EXPECT_EQ(receivers[datagrams[i].stream].take(), sent[i]) << i;
    }
    EXPECT_TRUE(receivers[0].take().empty());
}

INSTANTIATE_TEST_SUITE_P(Offloads, UdpSinkWithOffload, testing::Values(Offload::none, Offload::gso));

TEST(UdpSink, BoardsOfOnePortMakeSuperPackets) {
    const Receiver receivers[2];
    std::vector<BoardEndpoint> endpoints;
    for (std::uint16_t board = 0; board < 300; ++board)
        endpoints.push_back({board, "127.0.0.1", receivers[board / 150].port});
    UdpSink sink(endpoints, Offload::gso);
    std::vector<std::vector<std::byte>> sent;
    std::vector<OutgoingDatagram> datagrams;
    for (std::uint32_t i = 0; i < 600; ++i) {  // two triggers
        const std::uint32_t stream = i % 300;
        datagrams.push_back({sent.emplace_back(200, static_cast<std::byte>(i * 7 / 5)), stream, 1});
    }
    std::vector<SendResult> results(600, SendResult::failed);
    sink.send(datagrams, 0, results.data());
    for (std::uint32_t i = 0; i < 600; ++i) {
        EXPECT_EQ(results[i], SendResult::sent);
        EXPECT_EQ(receivers[i % 300 / 150].take(), sent[i]) << i << ": in the order in which they were given";
    }
    EXPECT_TRUE(receivers[0].take().empty());
}

TEST(UdpSink, DatagramsThatAlternateBetweenTwoPortsMakeOneSuperPacketEach) {
    const Receiver receivers[2];
    std::vector<BoardEndpoint> endpoints;
    for (std::uint16_t board = 0; board < 2; ++board) {
        endpoints.push_back({board, "127.0.0.1", receivers[board].port});
        const int whole = 1;  // super-packets are not cut for the receiver
        if (setsockopt(receivers[board].socket, SOL_UDP, UDP_GRO, &whole, sizeof whole) != 0)
            GTEST_SKIP() << "this kernel has no UDP_GRO";
    }
    UdpSink sink(endpoints, Offload::gso);
    const std::vector<std::byte> bytes(200);
    std::vector<OutgoingDatagram> datagrams;
    for (std::uint32_t i = 0; i < 20; ++i) datagrams.push_back({bytes, i % 2, 1});
    std::vector<SendResult> results(20, SendResult::failed);
    sink.send(datagrams, 0, results.data());
    for (const Receiver& receiver : receivers) EXPECT_EQ(receiver.take().size(), 10U * bytes.size());
}

TEST(UdpSink, SaysWhatIsWrongBeforeItStarts) {
    EXPECT_THROW(UdpSink(std::vector<BoardEndpoint>{{0, "127.0.0.1", 0}}), anello::ConfigError);
    EXPECT_THROW(UdpSink(std::vector<BoardEndpoint>{{0, "no such host", 9}}), anello::ConfigError);
    EXPECT_THROW(parse_offload("gro"), anello::ConfigError);
    EXPECT_EQ(parse_offload("gso"), Offload::gso);
}

TEST(UdpSink, CountsADatagramTooLargeAndSendsTheOthers) {
    const Receiver receiver;
    UdpSink sink(std::vector<BoardEndpoint>{{0, "127.0.0.1", receiver.port}});
    const std::vector<std::byte> small(10, std::byte{1}), large(70'000);
    const OutgoingDatagram datagrams[]{{small, 0, 1}, {large, 0, 1}, {small, 0, 1}};
    SendResult results[3];
    sink.send(datagrams, 0, results);
    EXPECT_EQ(results[0], SendResult::sent);
    EXPECT_EQ(results[1], SendResult::failed);
    EXPECT_EQ(results[2], SendResult::sent);
    EXPECT_EQ(receiver.take(), small);
    EXPECT_EQ(receiver.take(), small);
}

TEST(PcapSink, SaysThatItCannotWrite) {
    EXPECT_THROW(PcapSink("/nowhere/at/all.pcap", std::vector<BoardEndpoint>{{0, "127.0.0.1", 1}}),
                 anello::SystemError);
}

}  // namespace
}  // namespace anello::source::sinks_test

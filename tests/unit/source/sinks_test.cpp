// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <pcap/pcap.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "core/errors.hpp"
#include "source/pcap_sink.hpp"
#include "source/rich_simulation.hpp"
#include "source/rich_source.hpp"
#include "source/simulated_time.hpp"
#include "source/udp_sink.hpp"
#include "unit/source/capture_sink.hpp"

using namespace anello::source;
using anello::source::test::CaptureSink;

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

/// Hands everything to two sinks.
struct Tee final : PacketSink {
    Tee(PacketSink& a, PacketSink& b) : first(a), second(b) {}
    void send(std::span<const OutgoingDatagram> datagrams, anello::Nanoseconds now_ns,
              SendResult* results) noexcept override {
        first.send(datagrams, now_ns, results);
        second.send(datagrams, now_ns, results);
    }
    PacketSink &first, &second;
};

std::uint32_t sum_of_words(const u_char* from, std::size_t n_bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < n_bytes; i += 2) sum += static_cast<std::uint32_t>(from[i] << 8 | from[i + 1]);
    return (sum & 0xffff) + (sum >> 16);
}

TEST(PcapSink, LibpcapReadsBackWhatASimulatedRunSent) {
    const auto path = std::filesystem::temp_directory_path() / ("anello_pcap_" + std::to_string(getpid()) + ".pcap");
    const EventPool pool(RichSimulation(RichSimulationConfig{}).simulate(100), Format::mgp, true);
    RichSourceConfig config;
    config.n_bursts = 1;
    config.burst_ms = 2;
    for (std::uint32_t board = 0; board < 4; ++board)
        config.boards[board].port = static_cast<std::uint16_t>(6000 + board);
    CaptureSink captured;
    {
        PcapSink file(path.string(), config.boards);
        Tee tee(file, captured);
        anello::ManualClock clock(1'700'000'000'123'456'789);
        anello::CounterPage page;
        RichSource source(config, pool, tee, clock, page);
        run_in_simulated_time(source, clock);
        EXPECT_TRUE(file.flush());
    }
    char error[PCAP_ERRBUF_SIZE];
    pcap_t* handle = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
    ASSERT_NE(handle, nullptr) << error;
    std::size_t n_seen[4] = {};
    pcap_pkthdr* header = nullptr;
    const u_char* frame = nullptr;
    while (pcap_next_ex(handle, &header, &frame) == 1) {
        const std::uint32_t port = static_cast<std::uint32_t>(frame[36] << 8 | frame[37]);
        ASSERT_GE(port, 6000U);
        ASSERT_LT(port, 6004U);
        const auto& sent = captured.streams[port - 6000][n_seen[port - 6000]++];
        ASSERT_EQ(header->caplen, sent.bytes.size() + PcapSink::frame_header_bytes);
        EXPECT_EQ(std::memcmp(frame + PcapSink::frame_header_bytes, sent.bytes.data(), sent.bytes.size()), 0);
        EXPECT_EQ(header->ts.tv_sec * 1'000'000'000 + header->ts.tv_usec, sent.sent_ns);
        EXPECT_EQ(sum_of_words(frame + 14, 20), 0xffffU);  // the IP header's checksum
    }
    pcap_close(handle);
    std::filesystem::remove(path);
    for (std::uint32_t board = 0; board < 4; ++board) {
        EXPECT_GT(n_seen[board], 6U);
        EXPECT_EQ(n_seen[board], captured.streams[board].size());
    }
}

TEST(PcapSink, SaysThatItCannotWrite) {
    EXPECT_THROW(PcapSink("/nowhere/at/all.pcap", std::vector<BoardEndpoint>{{0, "127.0.0.1", 1}}),
                 anello::SystemError);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#ifdef ANELLO_IO_URING
#include "receive/datagrams/uring_backend.hpp"

#include <gmock/gmock.h>

#include "core/errors.hpp"
#include "unit/receive/udp_sender.hpp"
#include "unit/receive/uring_here.hpp"

namespace anello::receive::uring_backend_test {
namespace {

using test::UdpSender;
using Bytes = std::vector<std::byte>;

class UringBackendTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = test::no_uring_because(); !reason.empty()) GTEST_SKIP() << reason;
    }
};

UringBackendConfig on_loopback(std::size_t n_ports) {
    return {.address = "127.0.0.1",
            .ports = std::vector<std::uint16_t>(n_ports, 0),
            .gro = false,
            .slots_per_stream = 8,
            .receive_buffer_bytes = 4 << 20};
}

/// Takes datagrams until none has come for a long time.
std::vector<std::size_t> take_all(UringBackend& backend) {
    std::vector<Datagram> batch(64);
    std::vector<std::size_t> n_per_stream(backend.n_streams());
    for (int n_idle = 0; n_idle < 1000;) {
        const std::size_t n_datagrams = backend.receive(batch);
        n_idle = n_datagrams == 0 ? n_idle + 1 : 0;
        for (std::size_t i = 0; i < n_datagrams; ++i) ++n_per_stream[batch[i].stream];
    }
    return n_per_stream;
}

TEST_F(UringBackendTest, MoreThanTheSlotsHoldWaitsInTheSocket) {
    UringBackend backend(on_loopback(1));
    UdpSender sender(backend.port(0));
    for (int i = 0; i < 500; ++i) sender.send(Bytes(100));
    EXPECT_THAT(take_all(backend), testing::ElementsAre(500U));
    EXPECT_THAT(backend.describe(), testing::HasSubstr("kB of 4194 kB asked"));
    EXPECT_EQ(backend.kernel_dropped(0), 0U);
    EXPECT_EQ(backend.n_errors(), 0U);
}

TEST_F(UringBackendTest, CountsWhatTheKernelDropped) {
    constexpr std::size_t n_sent = 200;
    UringBackendConfig config = on_loopback(1);
    config.receive_buffer_bytes = 4096;
    UringBackend backend(config);
    UdpSender sender(backend.port(0));
    for (std::size_t i = 0; i < n_sent; ++i) sender.send(Bytes(1000));
    const std::size_t n_taken = take_all(backend)[0];
    EXPECT_GT(n_taken, 0U);
    EXPECT_LT(n_taken, n_sent);
    EXPECT_EQ(backend.kernel_dropped(0), n_sent - n_taken);
}

TEST_F(UringBackendTest, AnUnwantedStreamTakesNoSlotOfAnother) {
    UringBackend backend(on_loopback(2));
    UdpSender unwanted(backend.port(0)), wanted(backend.port(1));
    backend.set_wanted(0, false);
    for (int i = 0; i < 100; ++i) {
        unwanted.send(Bytes(10));
        wanted.send(Bytes(10));
    }
    EXPECT_THAT(take_all(backend), testing::ElementsAre(0U, 100U));
    backend.set_wanted(0, true);
    EXPECT_THAT(take_all(backend), testing::ElementsAre(100U, 0U));
}

TEST_F(UringBackendTest, AFloodOnOnePortStarvesNoOther) {
    UringBackend backend(on_loopback(3));
    UdpSender flood(backend.port(0)), other(backend.port(1));
    std::vector<Datagram> batch(8);
    backend.receive(batch);
    for (int i = 0; i < 1000; ++i) flood.send(Bytes(100));
    other.send(Bytes(100));
    bool came = false;
    for (int i = 0; i < 20 && !came; ++i)
        for (const Datagram& datagram : std::span(batch).first(backend.receive(batch))) came |= datagram.stream == 1;
    EXPECT_TRUE(came);
}

TEST_F(UringBackendTest, SplitsSuperPackets) {
    UringBackendConfig config = on_loopback(1);
    config.gro = true;
    UringBackend backend(config);
    UdpSender(backend.port(0)).send_super_packet(Bytes(20 * 1000 + 17), 1000);
    EXPECT_THAT(take_all(backend), testing::ElementsAre(21U));
    EXPECT_EQ(backend.n_super_packets(0), 1U);
}

TEST_F(UringBackendTest, ADatagramLongerThanASlotIsDeliveredCut) {
    UringBackendConfig config = on_loopback(1);
    config.max_datagram_bytes = 100;
    UringBackend backend(config);
    UdpSender sender(backend.port(0));
    sender.send(Bytes(101));
    sender.send(Bytes(100));
    std::vector<Datagram> batch(4);
    std::vector<std::pair<std::size_t, bool>> taken;
    for (int i = 0; i < 100'000 && taken.size() < 2; ++i)
        for (const Datagram& datagram : std::span(batch).first(backend.receive(batch)))
            taken.emplace_back(datagram.bytes.size(), datagram.cut);
    EXPECT_THAT(taken, testing::ElementsAre(testing::Pair(100U, true), testing::Pair(100U, false)));
}

TEST_F(UringBackendTest, RefusesWhatCannotWork) {
    UringBackendConfig config = on_loopback(1);
    config.slots_per_stream = 48;
    EXPECT_THROW(UringBackend{config}, ConfigError);
    config = on_loopback(0);
    EXPECT_THROW(UringBackend{config}, ConfigError);
}

}  // namespace
}  // namespace anello::receive::uring_backend_test
#endif

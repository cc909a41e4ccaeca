// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/packet_ring_backend.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "core/errors.hpp"
#include "patience.hpp"
#include "receive/datagrams/socket_backend.hpp"
#include "unit/receive/capture_writer.hpp"
#include "unit/receive/raw_sender.hpp"
#include "unit/receive/udp_sender.hpp"
#include "unit/receive/veth_pair.hpp"

namespace anello::receive {
namespace {

using Bytes = std::vector<std::byte>;
using test::RawSender;
using test::UdpSender;
using test::VethPair;
using testing::ElementsAre;

class PacketRingTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = VethPair::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
        veth_ = std::make_unique<VethPair>();
    }
    static PacketRingBackendConfig config(std::size_t n_ports) {
        return {.interface = VethPair::receiver_interface,
                .ports = std::vector<std::uint16_t>(n_ports, 0),
                .receive_buffer_bytes = 1 << 20};
    }
    UdpSender sender(std::uint16_t port) const {
        return veth_->at_sender([&] { return UdpSender(port, VethPair::receiver_address); });
    }
    /// Until the kernel has handed over all that it placed in the rings.
    static std::vector<std::size_t> take_all(PacketRingBackend& backend) {
        std::vector<Datagram> batch(64);
        std::vector<std::size_t> n_per_stream(backend.n_streams());
        for (int n_idle = 0; n_idle < 1000 || backend.has_more_coming();) {
            const std::size_t n_datagrams = backend.receive(batch);
            n_idle = n_datagrams == 0 ? n_idle + 1 : 0;
            for (std::size_t i = 0; i < n_datagrams; ++i) ++n_per_stream[batch[i].stream];
        }
        return n_per_stream;
    }

    std::unique_ptr<VethPair> veth_;
};

TEST_F(PacketRingTest, AFloodBeyondTheRingIsCountedByPort) {
    PacketRingBackend backend(config(2));
    UdpSender loud = sender(backend.port(0)), quiet = sender(backend.port(1));
    for (int i = 0; i < 3000; ++i) {
        loud.send(Bytes(1000));
        if (i % 100 == 0) quiet.send(Bytes(1000));
    }
    const std::vector<std::size_t> n_taken = take_all(backend);
    EXPECT_GT(backend.kernel_dropped(0), 1000U);
    EXPECT_EQ(n_taken[0] + backend.kernel_dropped(0), 3000U);
    EXPECT_EQ(n_taken[1] + backend.kernel_dropped(1), 30U) << "blocks end with their time, however empty";
}

TEST_F(PacketRingTest, BlocksComeBackForever) {
    PacketRingBackend backend(config(1));
    UdpSender to_us = sender(backend.port(0));
    std::size_t n_taken = 0;
    for (int i = 0; i < 300; ++i) {
        // No more than the ring has blocks: where this thread stands still, each block ends with one datagram in it.
        for (int k = 0; k < 3; ++k) to_us.send(Bytes(8972));
        n_taken += take_all(backend)[0];
    }
    EXPECT_EQ(n_taken, 900U);
    EXPECT_EQ(backend.kernel_dropped(0), 0U);
}

TEST_F(PacketRingTest, TheStackAnswersNobody) {
    PacketRingBackend backend(config(1));
    UdpSender to_us = sender(backend.port(0));
    for (int i = 0; i < 5; ++i) to_us.send(Bytes(10));  // a refused port would make the second fail
    EXPECT_THAT(take_all(backend), ElementsAre(5U));
    SocketBackend other({.ports = {0}, .gro = false, .receive_buffer_bytes = 1 << 20});
    UdpSender to_other = sender(other.port(0));
    to_other.send(Bytes(20'000));
    std::vector<Datagram> batch(4);
    EXPECT_EQ(other.receive(batch), 1U) << "other ports have the stack as ever";
}

TEST_F(PacketRingTest, WhatIsNoWholeDatagramIsCounted) {
    PacketRingBackend backend(config(1));
    sender(backend.port(0)).send(Bytes(20'000));  // in three fragments
    RawSender raw = veth_->at_sender([] { return RawSender(VethPair::sender_interface); });
    Bytes frame = test::udp_frame(backend.port(0), Bytes(30));
    std::fill_n(frame.begin(), 6, std::byte{0});
    frame[0] = frame[5] = std::byte{2};  // the receiver's own address
    raw.send(frame);
    frame[38] = std::byte{0xff};  // the length that UDP tells
    raw.send(frame);
    frame[23] = std::byte{6};  // TCP's, and not for us
    raw.send(frame);
    EXPECT_THAT(take_all(backend), ElementsAre(1U));
    EXPECT_EQ(backend.kernel_dropped(0), 2U);
}

TEST_F(PacketRingTest, OnlyItsAddressIsTaken) {
    PacketRingBackendConfig one_address = config(1);
    one_address.address = VethPair::receiver_address;
    PacketRingBackend backend(one_address);
    RawSender raw = veth_->at_sender([] { return RawSender(VethPair::sender_interface); });
    Bytes frame = test::udp_frame(backend.port(0), Bytes(30));  // to 0.0.0.0
    std::fill_n(frame.begin(), 6, std::byte{0});
    frame[0] = frame[5] = std::byte{2};
    raw.send(frame);
    sender(backend.port(0)).send(Bytes(40));
    EXPECT_THAT(take_all(backend), ElementsAre(1U));
}

TEST_F(PacketRingTest, StampsAreTheKernels) {
    PacketRingBackend backend(config(1));
    const Nanoseconds before_ns = SystemClock::instance().wall_ns();
    sender(backend.port(0)).send(Bytes(10));
    std::vector<Datagram> batch(2);
    while (backend.receive(batch) == 0)
        ASSERT_LT(SystemClock::instance().wall_ns(), before_ns + anello::test::patience_ns);
    EXPECT_GE(batch[0].kernel_ns, before_ns);
    EXPECT_LE(batch[0].kernel_ns, SystemClock::instance().wall_ns());
}

TEST_F(PacketRingTest, RefusesWhatCannotWork) {
    PacketRingBackendConfig wrong = config(1);
    wrong.interface = "nosuchdevice";
    EXPECT_THROW(PacketRingBackend{wrong}, ConfigError);
    wrong = config(0);
    EXPECT_THROW(PacketRingBackend{wrong}, ConfigError);
}

}  // namespace
}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#include "receive/xdp/xdp_backend.hpp"

#include <gmock/gmock.h>

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
using testing::HasSubstr;

class XdpBackendTest : public testing::TestWithParam<XdpMode> {
  protected:
    void SetUp() override {
        if (const std::string reason = VethPair::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
        veth_ = std::make_unique<VethPair>();
    }
    XdpBackendConfig config(std::size_t n_ports) const {
        return {.interface = VethPair::receiver_interface,
                .ports = std::vector<std::uint16_t>(n_ports, 0),
                .best_mode = GetParam(),
                .slots_per_queue = 1024};
    }
    UdpSender sender(std::uint16_t port) const {
        return veth_->at_sender([&] { return UdpSender(port, VethPair::receiver_address); });
    }
    /// Takes until n_sure datagrams have come, and then none for a while.
    static std::vector<std::size_t> take_all(Backend& backend, std::size_t n_sure) {
        std::vector<Datagram> batch(64);
        std::vector<std::size_t> n_per_stream(backend.n_streams());
        constexpr Nanoseconds quiet_ns = 50'000'000;
        const Clock& clock = SystemClock::instance();
        const Nanoseconds limit_ns = clock.monotonic_ns() + anello::test::patience_ns;
        std::size_t n_taken = 0;
        for (Nanoseconds now_ns = clock.monotonic_ns(), last_ns = now_ns;
             now_ns - last_ns < quiet_ns || (n_taken < n_sure && now_ns < limit_ns); now_ns = clock.monotonic_ns()) {
            const std::size_t n_datagrams = backend.receive(batch);
            if (n_datagrams > 0) last_ns = now_ns;
            n_taken += n_datagrams;
            for (std::size_t i = 0; i < n_datagrams; ++i) ++n_per_stream[batch[i].stream];
        }
        return n_per_stream;
    }

    std::unique_ptr<VethPair> veth_;
};

INSTANTIATE_TEST_SUITE_P(Modes, XdpBackendTest, testing::Values(XdpMode::zero_copy, XdpMode::native, XdpMode::generic),
                         [](const auto& tested) {
                             return tested.param == XdpMode::zero_copy ? "zero_copy" : name_of(tested.param);
                         });

TEST_P(XdpBackendTest, SaysWhatItGot) {
    XdpBackend backend(config(3));
    EXPECT_EQ(backend.mode(), std::max(GetParam(), XdpMode::native)) << "no zero copy between virtual devices";
    EXPECT_TRUE(backend.takes_pieces());
    EXPECT_THAT(backend.describe(), HasSubstr("3 UDP ports by AF_XDP on anello-take"));
    EXPECT_THAT(backend.describe(), HasSubstr(name_of(backend.mode())));
    EXPECT_EQ(backend.describe().find("not better because") != std::string::npos, GetParam() == XdpMode::zero_copy);
}

TEST_P(XdpBackendTest, AlsoWhereTheReceivingThreadPollsTheQueue) {
    XdpBackendConfig polling = config(1);
    polling.busy_poll_us = 50;
    XdpBackend backend(polling);
    EXPECT_THAT(backend.describe(), HasSubstr(", busy polling 50 us"));
    UdpSender to_us = sender(backend.port(0));
    constexpr std::size_t n_sent = 500;
    for (std::size_t i = 0; i < n_sent; ++i) to_us.send(Bytes(1000));
    EXPECT_THAT(take_all(backend, n_sent), ElementsAre(n_sent));
    EXPECT_EQ(backend.kernel_dropped(0), 0U);
}

TEST_P(XdpBackendTest, WhatIsNotForUsGoesItsUsualWay) {
    XdpBackend backend(config(1));
    SocketBackend other({.ports = {0}, .gro = false, .receive_buffer_bytes = 4 << 20});
    UdpSender to_other = sender(other.port(0)), to_us = sender(backend.port(0));
    for (int i = 0; i < 10; ++i) {
        to_other.send(Bytes(100));
        to_us.send(Bytes(100));
    }
    to_other.send(Bytes(20'000));  // in fragments
    EXPECT_THAT(take_all(backend, 10), ElementsAre(10U));
    EXPECT_THAT(take_all(other, 11), ElementsAre(11U));
    EXPECT_EQ(backend.kernel_dropped(0), 0U);
}

TEST_P(XdpBackendTest, AFragmentedDatagramIsCountedAsDropped) {
    XdpBackend backend(config(2));
    sender(backend.port(1)).send(Bytes(20'000));
    EXPECT_THAT(take_all(backend, 0), ElementsAre(0U, 0U));
    EXPECT_EQ(backend.kernel_dropped(0), 0U);
    EXPECT_EQ(backend.kernel_dropped(1), 1U);
}

TEST_P(XdpBackendTest, AFloodBeyondTheRingIsCountedByPort) {
    XdpBackendConfig small = config(3);
    small.slots_per_queue = 64;
    XdpBackend backend(small);
    UdpSender loud = sender(backend.port(0)), quiet = sender(backend.port(1));
    std::vector<std::size_t> n_sent(3);
    std::vector<Datagram> batch(16);
    std::vector<std::size_t> n_taken(3);
    for (int i = 0; i < 2000; ++i) {
        loud.send(Bytes(100 + (i % 7) * 1000));  // some in pieces
        ++n_sent[0];
        if (i % 10 == 0) {
            quiet.send(Bytes(50));
            ++n_sent[1];
        }
        if (i % 100 == 0)
            for (const Datagram& datagram : std::span(batch).first(backend.receive(batch))) ++n_taken[datagram.stream];
        for (std::uint16_t stream = 0; stream < 3 && i % 50 == 0; ++stream)
            EXPECT_LE(backend.kernel_dropped(stream), n_sent[stream] - n_taken[stream]) << "never too many";
    }
    const std::vector<std::size_t> rest = take_all(backend, 0);
    for (std::uint16_t stream = 0; stream < 3; ++stream)
        EXPECT_EQ(n_taken[stream] + rest[stream] + backend.kernel_dropped(stream), n_sent[stream]);
    EXPECT_GT(backend.kernel_dropped(0), 1000U);
    EXPECT_GT(backend.kernel_dropped(1), 0U);
    EXPECT_EQ(backend.kernel_dropped(2), 0U);
}

TEST_P(XdpBackendTest, WhatWaitsInTheRingIsNotDropped) {
    XdpBackendConfig small = config(2);
    small.slots_per_queue = 64;
    XdpBackend backend(small);
    UdpSender to_us = sender(backend.port(0));
    for (int i = 0; i < 200; ++i) to_us.send(Bytes(100));
    EXPECT_EQ(backend.kernel_dropped(0), 136U) << "64 wait";
    EXPECT_EQ(backend.kernel_dropped(1), 0U);
    EXPECT_THAT(take_all(backend, 64), ElementsAre(64U, 0U));
    EXPECT_EQ(backend.kernel_dropped(0), 136U);
}

TEST_P(XdpBackendTest, AnUnwantedStreamHoldsUpNoOther) {
    XdpBackend backend(config(2));
    UdpSender unwanted = sender(backend.port(0)), wanted = sender(backend.port(1));
    backend.set_wanted(0, false);
    for (int i = 0; i < 100; ++i) {
        unwanted.send(Bytes(i % 3 == 0 ? 8000 : 10));
        wanted.send(Bytes(10));
    }
    EXPECT_THAT(take_all(backend, 100), ElementsAre(0U, 100U));
    EXPECT_EQ(backend.kernel_dropped(0), 0U) << "they are on their way";
    backend.set_wanted(0, true);
    EXPECT_THAT(take_all(backend, 100), ElementsAre(100U, 0U));
}

TEST_P(XdpBackendTest, SlotsComeBackForever) {
    XdpBackendConfig small = config(1);
    small.slots_per_queue = 64;
    XdpBackend backend(small);
    UdpSender to_us = sender(backend.port(0));
    std::size_t n_taken = 0;
    std::vector<Datagram> batch(64);
    constexpr std::size_t at_most_under_way = 4;  // of up to three slots; on a busy machine they come in heaps
    for (std::size_t i = 0; i < 1000; ++i) {
        to_us.send(Bytes(i % 2 == 0 ? 8972 : 20));
        for (int looks = 0; looks < 1'000'000 && n_taken + at_most_under_way <= i; ++looks)
            n_taken += backend.receive(batch);
    }
    EXPECT_EQ(n_taken + take_all(backend, 1000 - n_taken)[0], 1000U);
    EXPECT_EQ(backend.kernel_dropped(0), 0U);
}

TEST_P(XdpBackendTest, ReadsTagsOptionsAndPadding) {
    XdpBackend backend(config(1));
    RawSender raw = veth_->at_sender([] { return RawSender(VethPair::sender_interface); });
    const Bytes payload(10, std::byte{7});
    for (const int n_tags : {0, 1, 2})
        raw.send(test::udp_frame(backend.port(0), payload, {.n_vlan_tags = n_tags, .n_padding_bytes = 20}));
    raw.send(test::udp_frame(backend.port(0), payload, {.n_option_bytes = 40}));
    std::vector<Datagram> batch(16);
    std::vector<Bytes> taken;
    for (int n_idle = 0; n_idle < 10'000; ++n_idle)
        for (const Datagram& datagram : std::span(batch).first(backend.receive(batch)))
            taken.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
    EXPECT_THAT(taken, ElementsAre(payload, payload, payload, payload));
}

TEST_P(XdpBackendTest, FramesThatOnlyLookLikeOursPass) {
    XdpBackend backend(config(1));
    RawSender raw = veth_->at_sender([] { return RawSender(VethPair::sender_interface); });
    const Bytes payload(30, std::byte{7});
    const std::uint16_t port = backend.port(0);
    raw.send(test::udp_frame(port, payload, {.n_vlan_tags = 3}));
    raw.send(test::udp_frame(port, payload, {.ether_type = 0x86dd}));
    raw.send(test::udp_frame(port, payload, {.fragment_field = 0x2000}));
    raw.send(test::udp_frame(port, payload, {.fragment_field = 0x0001}));
    raw.send(test::udp_frame(port, payload, {.protocol = 6}));
    Bytes frame = test::udp_frame(port, payload);
    frame[14] = std::byte{0x44};  // a header of 16 bytes
    raw.send(frame);
    for (std::size_t n_bytes = 14; n_bytes < 42; ++n_bytes) raw.send(std::span(frame).first(n_bytes));
    EXPECT_THAT(take_all(backend, 0), ElementsAre(0U));
    EXPECT_EQ(backend.n_malformed(), 0U);
    EXPECT_EQ(backend.kernel_dropped(0), 0U);
}

TEST_P(XdpBackendTest, LengthsThatContradictAreDroppedAndCounted) {
    XdpBackend backend(config(1));
    RawSender raw = veth_->at_sender([] { return RawSender(VethPair::sender_interface); });
    for (const std::size_t n_bytes : {30, 8000}) {
        Bytes frame = test::udp_frame(backend.port(0), Bytes(n_bytes));
        frame[38] = std::byte{0xff};  // the length that UDP tells
        raw.send(frame);
    }
    EXPECT_THAT(take_all(backend, 0), ElementsAre(0U));
    EXPECT_EQ(backend.n_malformed(), 2U);
    EXPECT_EQ(backend.kernel_dropped(0), 2U);
}

TEST_P(XdpBackendTest, OnlyItsAddressIsTaken) {
    XdpBackendConfig one_address = config(1);
    one_address.address = VethPair::receiver_address;
    XdpBackend backend(one_address);
    RawSender raw = veth_->at_sender([] { return RawSender(VethPair::sender_interface); });
    raw.send(test::udp_frame(backend.port(0), Bytes(30)));  // to 0.0.0.0
    sender(backend.port(0)).send(Bytes(40));
    EXPECT_THAT(take_all(backend, 1), ElementsAre(1U));
}

TEST_P(XdpBackendTest, TheProgramGoesWithIt) {
    std::uint16_t port = 0;
    {
        const XdpBackend backend(config(1));
        port = backend.port(0);
        XdpBackendConfig second = config(1);
        EXPECT_THROW(XdpBackend{second}, SystemError) << "one program per interface";
    }
    SocketBackend sockets({.ports = {port}, .gro = false, .receive_buffer_bytes = 4 << 20});
    sender(port).send(Bytes(10));
    EXPECT_THAT(take_all(sockets, 1), ElementsAre(1U));
    XdpBackend again(config(1));
    sender(again.port(0)).send(Bytes(10));
    EXPECT_THAT(take_all(again, 1), ElementsAre(1U));
}

TEST_P(XdpBackendTest, RefusesWhatCannotWork) {
    XdpBackendConfig wrong = config(1);
    wrong.interface = "nosuchdevice";
    EXPECT_THROW(XdpBackend{wrong}, ConfigError);
    wrong = config(1);
    wrong.slots_per_queue = 1000;
    EXPECT_THROW(XdpBackend{wrong}, ConfigError);
    wrong = config(0);
    EXPECT_THROW(XdpBackend{wrong}, ConfigError);
    wrong = config(1);
    wrong.address = "here";
    EXPECT_THROW(XdpBackend{wrong}, ConfigError);
}

}  // namespace
}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_interface.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

#include "core/errors.hpp"
#include "receive/card/make_backend.hpp"
#include "unit/receive/nanet_library.hpp"
#include "unit/receive/raw_sender.hpp"
#include "unit/receive/udp_sender.hpp"
#include "unit/receive/veth_pair.hpp"

namespace anello::receive::nanet_interface_test {
namespace {

using test::RawSender;
using test::UdpSender;
using test::VethPair;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr MacAddress receiver_mac{2, 0, 0, 0, 0, 2}, sender_mac{2, 0, 0, 0, 0, 1};

Bytes frame_to(std::uint16_t port, std::size_t n_payload, const MacAddress& mac = receiver_mac) {
    const UdpRoute route{sender_mac, mac, {0x0ac70001, 5000}, {0x0ac70002, port}};
    Bytes frame(std::max(udp_header_bytes + n_payload, shortest_frame_bytes));
    write_udp_frame(route, Bytes(n_payload, std::byte{7}), frame);
    return frame;
}

TEST(NanetInterface, OneThatIsNotThereIsNamedByItsKey) {
    try {
        InterfaceNanetFrames({.interface = "nosuchdevice", .ports = {6000}});
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.field(), "receive.nanet_interface");
    }
}

TEST(NanetInterface, OfTwoPlacesForFramesOneIsRefused) {
    BackendConfig config{.kind = BackendKind::nanet, .ports = {6000}, .pcap_file = "run.pcap", .nanet_interface = "lo"};
    EXPECT_THROW(make_nanet_frames(config, SystemClock::instance()), ConfigError);
}

class NanetInterfaceTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = VethPair::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
        veth_ = std::make_unique<VethPair>();
    }
    std::unique_ptr<InterfaceNanetFrames> frames(std::size_t buffer_bytes = 1 << 20) const {
        return std::make_unique<InterfaceNanetFrames>(InterfaceNanetConfig{
            .interface = VethPair::receiver_interface, .ports = {6000, 0}, .receive_buffer_bytes = buffer_bytes});
    }
    RawSender raw_sender() const {
        return veth_->at_sender([] { return RawSender(VethPair::sender_interface); });
    }
    /// Takes the frames for our ports, until `n` have come.
    static std::vector<Bytes> take(NanetFrames& frames, std::size_t n) {
        std::vector<Bytes> found;
        std::vector<NanetFrame> batch(NanetFrames::most_at_once);
        for (int i = 0; found.size() < n && i < 1'000'000; ++i)
            for (const NanetFrame& frame : std::span(batch).first(frames.take(batch)))
                if (frame.stream >= 0) found.emplace_back(frame.bytes.begin(), frame.bytes.end());
        return found;
    }

    std::unique_ptr<VethPair> veth_;
};

TEST_F(NanetInterfaceTest, FramesComeAsTheyWereSent) {
    const auto here = frames();
    EXPECT_EQ(here->mac(), receiver_mac);
    EXPECT_NE(here->port(1), 0);
    RawSender raw = raw_sender();
    std::vector<Bytes> sent{frame_to(6000, 1000), frame_to(here->port(1), 100), frame_to(6000, 8900)};
    sent[0][60] ^= std::byte{1};  // which makes its checksum wrong: for the card to find
    for (const Bytes& frame : sent) raw.send(frame);
    EXPECT_EQ(take(*here, 3), sent);
}

TEST_F(NanetInterfaceTest, AChecksumThatTheSenderLeftToItsCardIsFilledIn) {
    const auto here = frames();
    UdpSender sender = veth_->at_sender([] { return UdpSender(6000, VethPair::receiver_address); });
    const Bytes payload(777, std::byte{5});
    sender.send(payload);
    const std::vector<Bytes> found = take(*here, 1);
    ASSERT_EQ(found.size(), 1U);
    const UdpRoute route{sender_mac, receiver_mac, sender.source(), {0x0ac70002, 6000}};
    Bytes expected(udp_header_bytes + payload.size());
    write_udp_frame(route, payload, expected);
    EXPECT_TRUE(std::equal(found[0].begin() + 34, found[0].end(), expected.begin() + 34)) << "UDP, with its checksum";
}

TEST_F(NanetInterfaceTest, WhatTheSystemHadNoRoomForIsCounted) {
    const auto here = frames(8192);
    RawSender raw = raw_sender();
    constexpr std::size_t n_sent = 500;
    for (std::size_t i = 0; i < n_sent; ++i) raw.send(frame_to(6000, 1000));
    const std::size_t n_come = take(*here, n_sent).size();
    EXPECT_LT(n_come, n_sent);
    const std::uint64_t n_dropped = here->socket_dropped();
    EXPECT_GE(n_dropped, n_sent - n_come);
    EXPECT_LT(n_dropped, n_sent - n_come + 20) << "besides ours, what the system itself says on the link";
    EXPECT_GE(here->socket_dropped(), n_dropped) << "asking clears the system's count";
}

TEST_F(NanetInterfaceTest, NothingIsTakenWhileAStreamIsNotWanted) {
    const auto here = frames();
    RawSender raw = raw_sender();
    here->set_wanted(1, false);
    raw.send(frame_to(6000, 100));
    std::vector<NanetFrame> batch(4);
    EXPECT_EQ(here->take(batch), 0U);
    EXPECT_FALSE(here->is_read(0));
    here->set_wanted(1, true);
    EXPECT_EQ(take(*here, 1).size(), 1U);
    EXPECT_EQ(take(*here, 0).size(), 0U);
}

/// Each frame that comes is in one of the card's counters.
TEST_F(NanetInterfaceTest, TheCardTakesThemAndHasAVerdictOnEach) {
    if (const std::string reason = test::reason_without_nanet(); !reason.empty()) GTEST_SKIP() << reason;
    CounterPage page;
    BackendConfig config{.kind = BackendKind::nanet, .address = "0.0.0.0", .ports = {6000, 6001}};
    config.nanet_library = test::nanet_library();
    config.nanet_interface = VethPair::receiver_interface;
    config.socket_buffer_bytes = 1 << 20;
    const auto backend = make_backend(config, SystemClock::instance(), &page);
    RawSender raw = raw_sender();
    UdpSender sender = veth_->at_sender([] { return UdpSender(6001, VethPair::receiver_address); });
    Bytes wrong = frame_to(6000, 100);
    wrong[60] ^= std::byte{1};
    for (int i = 0; i < 20; ++i) raw.send(frame_to(6000, 200));
    raw.send(wrong);
    raw.send(frame_to(6000, 100, {2, 9, 9, 9, 9, 9}));
    raw.send(frame_to(7000, 100));
    for (int i = 0; i < 10; ++i) sender.send(Bytes(300, std::byte{3}));
    std::vector<Datagram> batch(64);
    std::size_t n_come = 0;
    for (int i = 0; i < 200'000 && n_come < 30; ++i) n_come += backend->receive(batch);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(backend->receive(batch), 0U);
    EXPECT_EQ(n_come, 30U);
    std::map<std::string, std::uint64_t> count;
    for (const CounterPage::Sample& sample : page.read()) count[sample.name] = sample.value;
    EXPECT_EQ(count["frames_bad_udp_checksum"], 1U);
    EXPECT_GE(count["frames_wrong_mac"], 1U);
    EXPECT_EQ(count["frames_unknown_port"], 1U);
    EXPECT_EQ(count["datagrams"], 30U);
    EXPECT_EQ(count["refused"], 2U) << "a wrong checksum, and one that is for another card";
    std::uint64_t n_verdicts = 0;
    for (const auto& [name, value] : count) n_verdicts += name.starts_with("frames_") ? value : 0;
    EXPECT_EQ(n_verdicts, count["frames"]) << "also neighbour discovery of the system's own";
    EXPECT_THAT(backend->describe(), HasSubstr(VethPair::receiver_interface));
}

/// A process of its own, as permissions are not taken back.
TEST_F(NanetInterfaceTest, WithoutPermissionTheErrorSaysWhichOne) {
    EXPECT_EXIT(
        {
            if (setresuid(65534, 65534, 65534) != 0) _exit(2);
            try {
                InterfaceNanetFrames({.interface = VethPair::receiver_interface, .ports = {6000}});
            } catch (const SystemError& error) {
                std::fputs(error.what(), stderr);
                _exit(error.error_number() == EPERM ? 0 : 3);
            }
            _exit(4);
        },
        testing::ExitedWithCode(0), "CAP_NET_RAW");
}

}  // namespace
}  // namespace anello::receive::nanet_interface_test

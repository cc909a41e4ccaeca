// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/pcap_backend.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "unit/receive/capture_writer.hpp"
#include "unit/receive/mgp_sender.hpp"
#include "wire/mgp.hpp"

namespace anello::receive {
namespace {

using test::CaptureWriter;
using test::udp_frame;
using Bytes = std::vector<std::byte>;

FrameVerdict verdict_of(const Bytes& frame, std::size_t n_kept = SIZE_MAX) {
    UdpFrame parsed;
    const std::span<const std::byte> captured(frame);
    return parse_frame(captured.first(std::min(n_kept, frame.size())), frame.size(), parsed);
}

TEST(EthernetFrame, FindsTheDatagram) {
    const Bytes payload(33, std::byte{9});
    for (const test::FrameShape& shape :
         {test::FrameShape{}, test::FrameShape{.n_vlan_tags = 1}, test::FrameShape{.n_vlan_tags = 2},
          test::FrameShape{.n_option_bytes = 8}, test::FrameShape{.n_padding_bytes = 12}}) {
        const Bytes frame = udp_frame(5005, payload, shape);
        UdpFrame parsed;
        ASSERT_EQ(parse_frame(frame, frame.size(), parsed), FrameVerdict::udp);
        EXPECT_EQ(parsed.destination_port, 5005);
        EXPECT_EQ(Bytes(parsed.payload.begin(), parsed.payload.end()), payload);
    }
}

TEST(EthernetFrame, NamesWhyAFrameIsSkipped) {
    const Bytes payload(100);
    EXPECT_EQ(verdict_of(udp_frame(1, payload, {.ether_type = 0x86dd})), FrameVerdict::not_ip4) << "no IPv6 header";
    EXPECT_EQ(verdict_of(udp_frame(1, payload, {.fragment_field = 0x2000})), FrameVerdict::ip_fragment);
    EXPECT_EQ(verdict_of(udp_frame(1, payload, {.fragment_field = 0x0007})), FrameVerdict::ip_fragment);
    EXPECT_EQ(verdict_of(udp_frame(1, payload, {.fragment_field = 0x4000})), FrameVerdict::udp) << "do not fragment";
    EXPECT_EQ(verdict_of(udp_frame(1, payload, {.protocol = 6})), FrameVerdict::not_udp);
    Bytes wrong_length = udp_frame(1, payload);
    wrong_length[14 + 20 + 5] = std::byte{200};
    EXPECT_EQ(verdict_of(wrong_length), FrameVerdict::malformed);
    wrong_length[14 + 20 + 5] = std::byte{7};
    EXPECT_EQ(verdict_of(wrong_length), FrameVerdict::malformed);
}

TEST(EthernetFrame, ACutFrameNeverCountsAsWhole) {
    const Bytes frame = udp_frame(1, Bytes(100));
    for (std::size_t n_kept = 0; n_kept < frame.size(); ++n_kept) {
        const FrameVerdict verdict = verdict_of(frame, n_kept);
        EXPECT_TRUE(verdict == FrameVerdict::cut_short || (n_kept == 14 && verdict == FrameVerdict::not_ip4)) << n_kept;
        const Bytes short_frame(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(n_kept));
        EXPECT_NE(verdict_of(short_frame), FrameVerdict::udp);
    }
}

/// Datagrams of the board one after the other, as a capture has them where segmentation offload was on.
Bytes joined(const std::vector<Bytes>& datagrams) {
    Bytes all;
    for (const Bytes& datagram : datagrams) all.insert(all.end(), datagram.begin(), datagram.end());
    return all;
}

PcapBackendConfig of_mgp(const std::string& path) {
    return {.path = path, .ports = {5005}, .speed = 0.0, .datagram_length = wire::mgp::datagram_bytes};
}

TEST(PcapBackend, TakesSuperPacketsApart) {
    CaptureWriter capture;
    test::MgpSender board(7);
    std::vector<Bytes> sent;
    for (int i = 0; i < 3; ++i) sent.push_back(board.data(0));  // all of one length,
    sent.push_back(board.marker(wire::mgp::end_of_burst));      // then a longer one
    sent.push_back(board.data(1));
    capture.add(udp_frame(5005, joined({sent[0], sent[1], sent[2]})));
    capture.add(udp_frame(5005, sent[3]));
    capture.add(udp_frame(5005, sent[4]));
    PcapBackend backend(of_mgp(capture.finish()), SystemClock::instance());
    std::vector<Bytes> taken;
    std::vector<Datagram> batch(2);
    while (!backend.finished())
        for (const Datagram& datagram : std::span(batch).first(backend.receive(batch)))
            taken.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
    EXPECT_EQ(taken, sent);
    EXPECT_EQ(backend.n_super_packets(0), 1U);
}

TEST(PcapBackend, TheLastOfASuperPacketMayBeShorter) {
    test::MgpSender board(7);
    board.begin_burst(0, 140);  // 20 hits and more
    const Bytes longer = board.data(2);
    EXPECT_EQ(segment_bytes_of(joined({longer, longer, board.data(1)}), wire::mgp::datagram_bytes), longer.size());
    for (const Bytes& other :
         {joined({board.data(1), longer}), joined({longer, Bytes(10)}), longer, Bytes(100), Bytes()})
        EXPECT_EQ(segment_bytes_of(other, wire::mgp::datagram_bytes), other.size());
}

TEST(PcapBackend, RefusesASuperPacketThatItCannotCut) {
    CaptureWriter capture;
    capture.add(udp_frame(5005, Bytes(1400)));
    capture.add(udp_frame(5005, Bytes(14'000)));
    try {
        PcapBackend backend(of_mgp(capture.finish()), SystemClock::instance());
        ADD_FAILURE();
    } catch (const ConfigError& error) {
        EXPECT_NE(std::string(error.what()).find("datagram 2 to port 5005 has 14000 bytes"), std::string::npos)
            << error.what();
        EXPECT_NE(std::string(error.what()).find("gso off"), std::string::npos);
    }
}

TEST(PcapBackend, LendsWholeWhatItCannotCutAndTheTimeOfCaptureWhereAsked) {
    CaptureWriter capture;
    capture.add(udp_frame(5005, Bytes(14'000)), 77'000'000'123);
    PcapBackendConfig config = of_mgp(capture.finish());
    config.refuses_uncut = false;
    config.capture_stamps = true;
    PcapBackend backend(config, SystemClock::instance());
    std::vector<Datagram> batch(2);
    ASSERT_EQ(backend.receive(batch), 1U);
    EXPECT_EQ(batch[0].bytes.size(), 14'000U);
    EXPECT_EQ(batch[0].kernel_ns, 77'000'000'123);
    EXPECT_TRUE(backend.finished());
}

TEST(PcapBackend, ReplaysAtTheCapturedOrAScaledSpeed) {
    CaptureWriter capture;
    for (int i = 0; i < 4; ++i) capture.add(udp_frame(9, Bytes(10)), 77'000'000'000 + i * 1'000'000ULL);
    for (const double speed : {1.0, 10.0}) {
        ManualClock clock(123);
        PcapBackend backend({.path = capture.finish(), .ports = {9}, .speed = speed}, clock);
        const auto step_ns = static_cast<Nanoseconds>(1'000'000 / speed);
        std::vector<Datagram> batch(8);
        EXPECT_EQ(backend.receive(batch), 1U);
        clock.advance(step_ns - 1);
        EXPECT_EQ(backend.receive(batch), 0U);
        clock.advance(1);
        EXPECT_EQ(backend.receive(batch), 1U);
        EXPECT_FALSE(backend.finished());
        clock.advance(2 * step_ns);
        EXPECT_EQ(backend.receive(batch), 2U);
        EXPECT_TRUE(backend.finished());
        EXPECT_EQ(backend.receive(batch), 0U);
    }
}

TEST(PcapBackend, AFileThatIsBehindItsTimeHasNotBeenRead) {
    test::CaptureWriter capture;
    for (int i = 0; i < 4; ++i) capture.add(test::udp_frame(9, std::vector<std::byte>(10)), i * 1'000'000);
    ManualClock clock(1'000'000'000);
    PcapBackend backend({.path = capture.finish(), .ports = {9}, .speed = 1.0}, clock);
    std::vector<Datagram> batch(2);
    EXPECT_EQ(backend.receive(batch), 1U);
    EXPECT_TRUE(backend.is_read(0));
    clock.advance(10'000'000);
    EXPECT_EQ(backend.receive(batch), 2U);
    EXPECT_FALSE(backend.is_read(0)) << "more may be due";
    EXPECT_EQ(backend.receive(batch), 1U);
    EXPECT_TRUE(backend.is_read(0));
}

TEST(PcapBackend, CountsWhatItSkips) {
    CaptureWriter capture;
    capture.add(udp_frame(9, Bytes(10)));
    capture.add(udp_frame(10, Bytes(10)));
    capture.add(udp_frame(9, Bytes(10), {.protocol = 1}));
    capture.add(udp_frame(9, Bytes(10), {.fragment_field = 0x2000}));
    capture.add(udp_frame(9, Bytes(10), {.ether_type = 0x0806}));
    capture.add(udp_frame(9, Bytes(500)), 0, 100);
    capture.add(udp_frame(9, Bytes(20)));
    PcapBackend backend({.path = capture.finish(), .ports = {9}, .speed = 0.0}, SystemClock::instance());
    std::vector<Datagram> batch(8);
    EXPECT_EQ(backend.receive(batch), 2U);
    EXPECT_EQ(batch[1].bytes.size(), 20U);
    EXPECT_TRUE(backend.finished());
    EXPECT_EQ(backend.n_frames(FrameVerdict::udp), 3U);
    EXPECT_EQ(backend.n_other_port(), 1U);
    for (const FrameVerdict verdict :
         {FrameVerdict::not_udp, FrameVerdict::ip_fragment, FrameVerdict::not_ip4, FrameVerdict::cut_short})
        EXPECT_EQ(backend.n_frames(verdict), 1U);
    EXPECT_EQ(backend.read_error(), "");
}

std::uint64_t value_of(const CounterPage& page, const std::string& name) {
    for (const auto& sample : page.read())
        if (sample.block == "receive.capture" && sample.name == name) return sample.value;
    return ~std::uint64_t{0};
}

/// A frame of UDP over IPv6: its header takes the place of that of IPv4.
Bytes ip6_frame(std::uint16_t port, const Bytes& payload) {
    Bytes frame = udp_frame(port, payload, {.ether_type = 0x86dd});
    Bytes header(40);
    header[0] = std::byte{0x60};
    header[6] = std::byte{17};
    frame.erase(frame.begin() + 14, frame.begin() + 34);
    frame.insert(frame.begin() + 14, header.begin(), header.end());
    return frame;
}

TEST(PcapBackend, TellsTheNodeWhatItCouldNotUseOfItsPorts) {
    CaptureWriter capture;
    capture.add(udp_frame(9, Bytes(10)));
    for (const std::uint16_t port : {9, 10}) {
        capture.add(ip6_frame(port, Bytes(10)));
        capture.add(udp_frame(port, Bytes(10), {.fragment_field = 0x2000}));  // the first piece tells the port
        capture.add(udp_frame(port, Bytes(500)), 0, 100);
        capture.add(udp_frame(port, Bytes(10), {.ether_type = 0x0806}));
    }
    capture.add(udp_frame(10, Bytes(10), {.fragment_field = 0x0007}));  // a later piece does not
    capture.put(7);
    CounterPage page;
    PcapBackend backend({.path = capture.finish(), .ports = {9}, .speed = 0.0}, SystemClock::instance(), &page);
    std::vector<Datagram> batch(16);
    EXPECT_EQ(backend.receive(batch), 1U);
    EXPECT_EQ(value_of(page, "frames"), 10U);
    EXPECT_EQ(value_of(page, "ip6"), 1U);
    EXPECT_EQ(value_of(page, "ip_fragments"), 2U);
    EXPECT_EQ(value_of(page, "cut_short"), 1U);
    EXPECT_EQ(value_of(page, "read_errors"), 1U);
    EXPECT_EQ(backend.n_frames(FrameVerdict::udp_ip6), 2U);
    EXPECT_NE(backend.trouble().find("could not be read to its end"), std::string::npos);
}

TEST(PcapBackend, APauseThatNobodyWouldWaitForIsLeftOut) {
    CaptureWriter capture;
    capture.add(udp_frame(9, Bytes(10)), 0);
    capture.add(udp_frame(9, Bytes(10)), 1'700'000'000'000'000'000);
    capture.add(udp_frame(9, Bytes(10)), 1'700'000'000'001'000'000);
    ManualClock clock(123);
    CounterPage page;
    PcapBackend backend({.path = capture.finish(), .ports = {9}, .speed = 1.0}, clock, &page);
    std::vector<Datagram> batch(8);
    EXPECT_EQ(backend.receive(batch), 2U);
    clock.advance(999'999);
    EXPECT_EQ(backend.receive(batch), 0U);
    clock.advance(1);
    EXPECT_EQ(backend.receive(batch), 1U);
    EXPECT_EQ(value_of(page, "pauses_left_out"), 1U);
    EXPECT_TRUE(backend.finished());
}

TEST(PcapBackend, AFileThatBreaksOffSaysSo) {
    CaptureWriter capture;
    capture.add(udp_frame(9, Bytes(10)));
    capture.put(7);
    PcapBackend backend({.path = capture.finish(), .ports = {9}, .speed = 0.0}, SystemClock::instance());
    std::vector<Datagram> batch(8);
    EXPECT_EQ(backend.receive(batch), 1U);
    EXPECT_TRUE(backend.finished());
    EXPECT_NE(backend.read_error(), "");
}

TEST(PcapBackend, WrongConfigurationsNameThemselves) {
    const Clock& clock = SystemClock::instance();
    CaptureWriter capture, other_link(113);
    EXPECT_THROW(PcapBackend({.path = "/does/not/exist", .ports = {9}}, clock), ConfigError);
    EXPECT_THROW(PcapBackend({.path = capture.finish(), .ports = {}}, clock), ConfigError);
    EXPECT_THROW(PcapBackend({.path = capture.finish(), .ports = {9, 9}}, clock), ConfigError);
    EXPECT_THROW(PcapBackend({.path = capture.finish(), .ports = {9}, .speed = -1.0}, clock), ConfigError);
    EXPECT_THROW(PcapBackend({.path = other_link.finish(), .ports = {9}}, clock), ConfigError);
}

}  // namespace
}  // namespace anello::receive

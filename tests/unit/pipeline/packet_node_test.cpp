// SPDX-License-Identifier: Apache-2.0
#include "pipeline/packet_node.hpp"

#include <gtest/gtest.h>

#include "source/packet_source.hpp"
#include "source/sinks/udp_sink.hpp"
#include "unit/receive/udp_sender.hpp"
#include "wire/bytes.hpp"

namespace anello::pipeline {
namespace {

wire::Verdict parse(std::span<const std::byte> datagram, receive::NumberedPacket& packet) noexcept {
    if (datagram.size() != 8) return wire::Verdict::wrong_length;
    packet = {wire::load_le<std::uint32_t>(datagram.data()), wire::load_le<std::uint32_t>(datagram.data() + 4), {}};
    return wire::Verdict::ok;
}

std::size_t write(std::uint32_t board, std::uint32_t sequence, std::span<std::byte> datagram) noexcept {
    wire::store_le(datagram.data(), board);
    wire::store_le(datagram.data() + 4, sequence);
    return 8;
}

class Sum final : public PacketUser {
  public:
    explicit Sum(std::atomic<std::uint64_t>& n, std::atomic<bool>& ended) : n_(n), ended_(ended) {}
    void use(const receive::NumberedPacket&) noexcept override {
        EXPECT_FALSE(ended_.load());
        n_.fetch_add(1);
    }
    void finish() noexcept override { ended_.store(true); }

  private:
    std::atomic<std::uint64_t>& n_;
    std::atomic<bool>& ended_;
};

struct Rig {
    explicit Rig(std::uint64_t n_packets = 0)
        : node(
              {.n_boards = 2, .n_packets = n_packets, .backend = {.ports = {0}}}, parse,
              [&](CounterPage&) { return std::make_unique<Sum>(n_used, has_ended); }, clock) {}

    /// Waits until n packets were used: all that a test sent has come by then.
    void await(std::uint64_t n) const {
        while (n_used.load() < n) std::this_thread::yield();
    }
    void send(receive::test::UdpSender& sender, std::uint32_t board, std::uint32_t sequence) const {
        std::array<std::byte, 8> bytes{};
        write(board, sequence, bytes);
        sender.send(bytes);
    }
    std::uint64_t count(const std::string& block, const std::string& name) const {
        for (const auto& sample : node.counters())
            if (sample.block == block && sample.name == name) return sample.value;
        return ~std::uint64_t{0};
    }

    ManualClock clock{1'000'000'000};
    std::atomic<std::uint64_t> n_used{0};
    std::atomic<bool> has_ended{false};
    PacketNode node;
};

TEST(PacketNode, UsesWhatBoardsSentAndDrains) {
    Rig rig;
    rig.node.start();
    receive::test::UdpSender sender(rig.node.ports()[0]);
    for (std::uint32_t i = 0; i < 50; ++i)
        for (const std::uint32_t board : {0U, 1U}) rig.send(sender, board, i);
    rig.node.stop();
    EXPECT_EQ(rig.n_used.load(), 100U) << "what had been sent is read before the end";
    EXPECT_TRUE(rig.has_ended.load());
    EXPECT_EQ(rig.count("receive.port0", "datagrams"), 100U);
    EXPECT_EQ(rig.count("receive.verdict", "ok"), 100U);
    EXPECT_EQ(rig.node.latency().at("came_to_used")->count(), 100U);
    std::uint64_t n_expected = 0;
    rig.node.for_each_sequence_log([&](std::uint32_t, const receive::SequenceLog& log) {
        for (const auto& range : log.expected.ranges()) n_expected += range.end - range.begin;
        EXPECT_TRUE(log.missing.ranges().empty());
    });
    EXPECT_EQ(n_expected, 100U);
}

TEST(PacketNode, HasFinishedWhenHalfOfTheBoardsHaveSentAllAndNothingComes) {
    Rig rig(3);
    rig.node.start();
    receive::test::UdpSender sender(rig.node.ports()[0]);
    for (std::uint32_t i = 0; i < 2; ++i) rig.send(sender, 0, i);
    rig.await(2);
    rig.clock.advance(10'000'000'000);
    EXPECT_FALSE(rig.node.finished()) << "a pause is no end";
    rig.send(sender, 0, 2);
    rig.await(3);
    EXPECT_FALSE(rig.node.finished()) << "packets of the other board may be on the way";
    rig.clock.advance(200'000'000);
    EXPECT_TRUE(rig.node.finished());
    rig.node.stop();
}

TEST(PacketNode, TellsOfAStranger) {
    Rig rig;
    rig.node.start();
    receive::test::UdpSender board(rig.node.ports()[0]), stranger(rig.node.ports()[0]);
    rig.send(board, 0, 0);
    rig.await(1);
    rig.send(stranger, 0, 1);
    rig.node.stop();
    EXPECT_EQ(rig.count("receive.board0", "strangers"), 1U);
    const Notices notices = rig.node.notices();
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_NE(notices[0].text.find("board 0"), std::string::npos) << notices[0].text;
    EXPECT_TRUE(rig.node.states().contains("receive"));
}

TEST(PacketNode, AccountsForWhatASourceSends) {
    Rig rig;
    CounterPage page;
    const source::PacketSourceConfig config{
        .n_boards = 2, .rate_hz = 1'000, .n_packets = 200, .ports = {rig.node.ports()[0]}, .faults = {.loss = 0.1}};
    source::UdpSink sink(config.endpoints());
    source::PacketSource source(config, &write, sink, rig.clock, page);
    rig.node.start();
    for (; source.running(); rig.clock.advance(1'000'000)) source.do_work();
    rig.node.stop();
    std::uint64_t n_sent = 0;
    for (const auto& sample : page.read())
        if (sample.name == "datagrams_sent") n_sent += sample.value;
    EXPECT_LT(n_sent, 400U);
    EXPECT_EQ(rig.n_used.load(), n_sent);
}

}  // namespace
}  // namespace anello::pipeline

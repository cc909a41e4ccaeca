// SPDX-License-Identifier: Apache-2.0
#include "source/packet_source.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::source::packet_source_test {
namespace {

using C = SourceCounter;

/// Keeps the numbers that each board sent, in their order.
struct KeepingSink final : PacketSink {
    void send(std::span<const OutgoingDatagram> datagrams, Nanoseconds, SendResult* results) noexcept override {
        EXPECT_LE(datagrams.size(), max_batch);
        for (std::size_t i = 0; i < datagrams.size(); ++i) {
            const auto* const bytes = datagrams[i].bytes.data();
            const auto board = wire::load_le<std::uint32_t>(bytes);
            EXPECT_EQ(board, datagrams[i].stream);
            sent[board].push_back(wire::load_le<std::uint32_t>(bytes + 4));
            results[i] = result;
        }
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> sent;
    SendResult result = SendResult::sent;
};

std::size_t write(std::uint32_t board, std::uint32_t sequence, std::span<std::byte> datagram) noexcept {
    wire::store_le(datagram.data(), board);
    wire::store_le(datagram.data() + 4, sequence);
    return 8;
}

struct Rig {
    explicit Rig(PacketSourceConfig config) : source(ready(config), &write, sink, clock, page) {}
    static PacketSourceConfig ready(PacketSourceConfig config) {
        config.ports = {4000};
        return config;
    }
    void run() {
        for (int i = 0; i < 10'000 && source.running(); ++i, clock.advance(1'000'000)) source.do_work();
        EXPECT_FALSE(source.running());
    }
    std::uint64_t count(const std::string& block, const std::string& name) const {
        for (const auto& sample : page.read())
            if (sample.block == block && sample.name == name) return sample.value;
        return ~std::uint64_t{0};
    }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    KeepingSink sink;
    PacketSource source;
};

std::uint64_t n_listed(const RangeLog& log) {
    std::uint64_t n = 0;
    for (const auto& range : log.ranges()) n += range.end - range.begin;
    return n;
}

TEST(PacketSource, EachBoardSendsEachNumberOnce) {
    Rig rig({.n_boards = 3, .rate_hz = 10'000, .n_packets = 2'000});
    rig.run();
    ASSERT_EQ(rig.sink.sent.size(), 3U);
    for (const auto& [board, numbers] : rig.sink.sent) {
        ASSERT_EQ(numbers.size(), 2'000U);
        for (std::uint32_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
        EXPECT_EQ(n_listed(rig.source.sent_log(board).made), 2'000U);
        EXPECT_EQ(n_listed(rig.source.sent_log(board).withheld), 0U);
    }
    EXPECT_EQ(rig.count("source.board0", "datagrams_sent"), 2'000U);
    EXPECT_EQ(rig.count("source", "time_forgone_ns"), 0U);
}

TEST(PacketSource, SendsByTheClock) {
    Rig rig({.n_boards = 1, .rate_hz = 1'000});
    rig.source.do_work();
    EXPECT_EQ(rig.sink.sent[0].size(), 1U) << "the first one is due at the start";
    rig.clock.advance(10'000'000);
    rig.source.do_work();
    EXPECT_EQ(rig.sink.sent[0].size(), 11U);
    rig.clock.advance(1'000'000'000);
    rig.source.do_work();
    EXPECT_LE(rig.sink.sent[0].size(), 75U) << "far behind, it sends no flood";
    EXPECT_GT(rig.count("source", "time_forgone_ns"), 900'000'000U);
    EXPECT_TRUE(rig.source.running());
    rig.source.stop();
    EXPECT_FALSE(rig.source.running());
}

TEST(PacketSource, FaultsAreWrittenDownNumberByNumber) {
    Rig rig({.n_boards = 4,
             .rate_hz = 10'000,
             .n_packets = 5'000,
             .faults = {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .dead_board = 3}});
    rig.run();
    EXPECT_TRUE(rig.sink.sent[3].empty());
    EXPECT_EQ(rig.count("source.board3", "packets_dead_board"), 5'000U);
    EXPECT_EQ(n_listed(rig.source.sent_log(3).withheld), 5'000U);
    for (std::uint32_t board = 0; board < 3; ++board) {
        const std::string block = "source.board" + std::to_string(board);
        const auto& numbers = rig.sink.sent[board];
        const std::uint64_t lost = rig.count(block, "packets_lost_injected");
        EXPECT_GT(lost, 100U);
        EXPECT_EQ(n_listed(rig.source.sent_log(board).withheld), lost);
        EXPECT_EQ(numbers.size(), 5'000 - lost + rig.count(block, "packets_duplicated_injected"));
        std::vector<bool> came(5'000);
        for (const std::uint32_t number : numbers) came[number] = true;
        for (const auto& range : rig.source.sent_log(board).withheld.ranges())
            for (std::uint64_t number = range.begin; number < range.end; ++number) EXPECT_FALSE(came[number]);
        EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(came, false)), lost);
        EXPECT_FALSE(std::ranges::is_sorted(numbers)) << "some were held back behind their successor";
    }
}

TEST(PacketSource, WhatIsHeldBackAtTheEndIsSentToo) {
    Rig rig({.n_boards = 1, .rate_hz = 10'000, .n_packets = 5, .faults = {.reorder = 1}});
    rig.run();
    EXPECT_EQ(rig.sink.sent[0], (std::vector<std::uint32_t>{1, 0, 3, 2, 4}));
}

TEST(PacketSource, WhatTheSystemRefusesIsWithheld) {
    Rig rig({.n_boards = 1, .rate_hz = 10'000, .n_packets = 100});
    rig.sink.result = SendResult::refused;
    rig.run();
    EXPECT_EQ(rig.count("source.board0", "send_refused"), 100U);
    EXPECT_EQ(n_listed(rig.source.sent_log(0).withheld), 100U);
}

TEST(PacketSource, AConfigurationWithoutPortsOrRateIsRefused) {
    EXPECT_THROW(PacketSourceConfig{.ports = {}}.validate(), ConfigError);
    EXPECT_THROW(Rig({.faults = {.loss = 0.6, .reorder = 0.5}}), ConfigError);
    EXPECT_THROW(Rig({.rate_hz = 0}), ConfigError);
    EXPECT_THROW(Rig({.n_boards = 0}), ConfigError);
}

}  // namespace
}  // namespace anello::source::packet_source_test

// SPDX-License-Identifier: Apache-2.0
#include "source/planned_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "wire/bytes.hpp"

namespace anello::source::planned_source_test {
namespace {

using Sent = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // epoch, sequence

/// Boards 5 and 6 send four packets each in every step of 100 ms, the last at its end; a step is an epoch.
struct Steps final : PacketPlan {
    bool next(Packet& packet) noexcept override {
        const std::uint32_t step = n / 8, sequence = n % 8 / 2;
        packet = {.due_ns = 100 * step + 25 * (sequence + 1),
                  .board = 5 + n % 2,
                  .step = step,
                  .epoch = step,
                  .sequence = sequence,
                  .n_hits = 3};
        return n++ < n_most;
    }
    std::size_t write(const Packet& packet, std::span<std::byte> datagram) noexcept override {
        wire::store_le(datagram.data(), packet.epoch);
        wire::store_le(datagram.data() + 4, packet.sequence);
        return 8;
    }
    std::uint32_t n = 0, n_most = 24;
};

struct Sink final : PacketSink {
    void send(std::span<const OutgoingDatagram> datagrams, Nanoseconds, SendResult* results) noexcept override {
        for (const OutgoingDatagram& one : datagrams) {
            sent[one.stream].emplace_back(wire::load_le<std::uint32_t>(one.bytes.data()),
                                          wire::load_le<std::uint32_t>(one.bytes.data() + 4));
            *results++ = SendResult::sent;
        }
    }
    std::array<Sent, 2> sent;
};

struct Rig {
    explicit Rig(FaultsConfig faults = {}, bool paced = true)
        : source({.first_board = 5, .n_boards = 2, .paced = paced, .max_packet_bytes = 8, .faults = faults},
                 std::make_unique<Steps>(), sink, clock, page) {}
    void run(int n_steps = 1000) {
        for (int i = 0; i < n_steps && source.running(); ++i, clock.advance(25)) source.do_work();
    }
    std::uint64_t count(SourceCounter counter, const std::string& block) const {
        for (const auto& sample : page.read())
            if (sample.block == block &&
                sample.name == counter_labels<SourceCounter>[static_cast<std::size_t>(counter)].name)
                return sample.value;
        return ~std::uint64_t{0};
    }
    ManualClock clock{1000};
    CounterPage page;
    Sink sink;
    PlannedSource source;
};

TEST(PlannedSource, SendsWhatIsDueAndNotMore) {
    Rig rig;
    rig.source.do_work();
    EXPECT_TRUE(rig.sink.sent[0].empty());
    rig.clock.advance(50);
    rig.source.do_work();
    EXPECT_EQ(rig.sink.sent[0], (Sent{{0, 0}, {0, 1}}));
    rig.run();
    EXPECT_FALSE(rig.source.running());
    EXPECT_EQ(rig.sink.sent[1].size(), 12U);
    EXPECT_EQ(rig.count(SourceCounter::hits, "source.board6"), 36U);
}

TEST(PlannedSource, WithoutAPaceItSendsAsFastAsItGoes) {
    Rig rig({}, false);
    rig.source.do_work();
    EXPECT_FALSE(rig.source.running());
    EXPECT_EQ(rig.sink.sent[0].size(), 12U);
}

TEST(PlannedSource, TheStepThatIsBeingSentIsTheLastAndIsSentWhole) {
    Rig rig;
    rig.run(3);
    std::size_t n = rig.sink.sent[0].size();
    EXPECT_EQ(n, 2U);
    rig.source.start();
    std::thread stopping([&] { rig.source.stop(); });
    for (; rig.source.running(); rig.clock.advance(25)) std::this_thread::yield();
    stopping.join();
    n = rig.sink.sent[0].size();
    EXPECT_TRUE(n == 4 || n == 8 || n == 12) << n;
    EXPECT_EQ(rig.sink.sent[1].size(), n);
}

TEST(PlannedSource, WhatIsHeldBackGoesBeforeTheNextEpoch) {
    Rig rig({.reorder = 1});
    rig.run();
    EXPECT_EQ(rig.sink.sent[0],
              (Sent{{0, 1}, {0, 0}, {0, 3}, {0, 2}, {1, 1}, {1, 0}, {1, 3}, {1, 2}, {2, 1}, {2, 0}, {2, 3}, {2, 2}}));
    Rig some({.reorder = 0.4});
    some.run();
    for (const Sent& sent : some.sink.sent) {
        EXPECT_EQ(sent.size(), 12U);
        EXPECT_TRUE(std::ranges::is_sorted(sent, {}, &Sent::value_type::first));
        EXPECT_FALSE(std::ranges::is_sorted(sent));
    }
}

TEST(PlannedSource, ABoardDiesAtItsStep) {
    Rig rig({.dead_board = 6, .dead_from_event = 2});
    rig.run();
    EXPECT_EQ(rig.sink.sent[0].size(), 12U);
    EXPECT_EQ(rig.sink.sent[1].size(), 8U);
    EXPECT_EQ(rig.count(SourceCounter::packets_dead_board, "source.board6"), 4U);
}

}  // namespace
}  // namespace anello::source::planned_source_test

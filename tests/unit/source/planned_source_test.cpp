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
    explicit Steps(CounterPage& page) : PacketPlan(page) {}
    Next next(Nanoseconds until_ns, Packet& packet) noexcept override {
        const std::uint32_t step = n / 8, sequence = n % 8 / 2;
        if (n == n_most || (is_stopped && n % 8 == 0)) return Next::none;
        packet = {.due_ns = 100 * step + 25 * (sequence + 1),
                  .stream = n % 2,
                  .step = step,
                  .epoch = step,
                  .first_number = sequence,
                  .n_hits = 3};
        if (packet.due_ns > until_ns) return Next::later;
        ++n;
        return Next::packet;
    }
    std::span<const std::byte> write(const Packet& packet, Nanoseconds, std::span<std::byte> room) noexcept override {
        wire::store_le(room.data(), packet.epoch);
        wire::store_le(room.data() + 4, static_cast<std::uint32_t>(packet.first_number));
        return room.first(8);
    }
    void stop() noexcept override { is_stopped = true; }
    std::uint32_t n = 0, n_most = 24;
    bool is_stopped = false;
};

/// Board 5 sends two packets from memory of the plan, and then a marker, and so does board 6.
struct Marked final : PacketPlan {
    explicit Marked(CounterPage& page) : PacketPlan(page) {}
    Next next(Nanoseconds, Packet& packet) noexcept override {
        if (n == 6) return Next::none;
        const std::uint32_t sequence = n / 2;
        packet = {.stream = n++ % 2, .first_number = sequence, .n_fragments = sequence < 2 ? 10U : 0U};
        return Next::packet;
    }
    std::span<const std::byte> write(const Packet& packet, Nanoseconds, std::span<std::byte> room) noexcept override {
        std::byte* const own = own_memory.data() + 8 * (2 * packet.first_number + packet.stream);
        std::byte* const at = packet.is_marker() ? room.data() : own;
        wire::store_le(at, std::uint32_t{0});
        wire::store_le(at + 4, static_cast<std::uint32_t>(packet.first_number));
        return {at, 8};
    }
    void stop() noexcept override {}
    std::uint32_t n = 0;
    std::array<std::byte, 32> own_memory{};
};

struct Sink final : PacketSink {
    void send(std::span<const OutgoingDatagram> datagrams, Nanoseconds, SendResult* results) noexcept override {
        batches.push_back(datagrams.size());
        for (const OutgoingDatagram& one : datagrams) {
            std::array<std::byte, 8> bytes{};
            std::ranges::copy(one.bytes, bytes.begin());
            n_bytes += one.bytes.size();
            sent[one.stream].emplace_back(wire::load_le<std::uint32_t>(bytes.data()),
                                          wire::load_le<std::uint32_t>(bytes.data() + 4));
            *results++ = SendResult::sent;
        }
    }
    std::array<Sent, 2> sent;
    std::vector<std::size_t> batches;
    std::size_t n_bytes = 0;
};

template <typename Plan>
struct RigOf {
    explicit RigOf(FaultsConfig faults = {}, bool paced = true)
        : source({.boards = {{.board = 5}, {.board = 6}}, .paced = paced, .max_packet_bytes = 8, .faults = faults},
                 std::make_unique<Plan>(page), sink, clock, page) {}
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
using Rig = RigOf<Steps>;

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

TEST(PlannedSource, MarkersGoAloneAndSufferNoFault) {
    RigOf<Marked> rig({.loss = 1});
    rig.run();
    EXPECT_EQ(rig.sink.sent[0], (Sent{{0, 2}}));
    EXPECT_EQ(rig.count(SourceCounter::burst_markers, "source.board5"), 1U);
    EXPECT_EQ(rig.count(SourceCounter::packets, "source.board5"), 2U);
    EXPECT_EQ(rig.count(SourceCounter::fragments_lost_injected, "source.board5"), 20U);
    RigOf<Marked> whole;
    whole.run();
    EXPECT_EQ(whole.sink.batches, (std::vector<std::size_t>{4, 2}));
    RigOf<Marked> dead({.dead_board = 6});
    dead.run();
    EXPECT_TRUE(dead.sink.sent[1].empty());
    EXPECT_EQ(dead.count(SourceCounter::burst_markers, "source.board6"), 0U);
}

TEST(PlannedSource, WhatIsHeldBackGoesBeforeTheMarker) {
    RigOf<Marked> rig({.reorder = 1});
    rig.run();
    EXPECT_EQ(rig.sink.sent[1], (Sent{{0, 1}, {0, 0}, {0, 2}}));
}

TEST(PlannedSource, WhatIsCorruptedIsACopy) {
    RigOf<Marked> rig({.corrupt = 1});
    rig.run();
    const Sent& sent = rig.sink.sent[0];
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_NE(sent[0], (Sent::value_type{0, 0}));
    EXPECT_NE(sent[1], (Sent::value_type{0, 1}));
    EXPECT_EQ(sent[2], (Sent::value_type{0, 2}));
    EXPECT_EQ(rig.count(SourceCounter::packets_corrupted_injected, "source.board5"), 2U);
    EXPECT_EQ(rig.source.sent_log(0).withheld.ranges().at(0).end, 2U);
}

TEST(PlannedSource, WhatIsTruncatedIsCountedWhole) {
    RigOf<Marked> rig({.truncate = 1});
    rig.run();
    EXPECT_EQ(rig.count(SourceCounter::bytes, "source.board5"), 16U);
    EXPECT_LT(rig.sink.n_bytes, 48U);
    EXPECT_EQ(rig.count(SourceCounter::fragments_truncated_injected, "source.board5"), 20U);
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

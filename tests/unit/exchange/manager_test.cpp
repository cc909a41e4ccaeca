// SPDX-License-Identifier: Apache-2.0
// The event manager alone: what it believes of builders, and what it tells when one is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/event_manager/event_manager.hpp"
#include "exchange/messages/own_messages.hpp"
#include "unit/exchange/fake_fabric.hpp"
#include "unit/exchange/hand_fabric.hpp"

namespace anello::exchange::test::manager_test {
namespace {

constexpr std::uint32_t seed = 22;

/// Takes control messages in, whole.
struct Ear final : fabric::Listener {
    std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t n) noexcept override {
        return std::span(memory).first(n);
    }
    void on_message(Peer, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override {
        MessageHeader message;
        if (!read(header, message) || message.type != MessageType::cancel) return;
        Assignment entry;
        for (std::size_t at = 0; at < payload.size(); at += entry_bytes) {
            read(payload.data() + at, entry);
            cancelled.push_back(entry);
        }
    }
    void on_signal(Peer, std::uint64_t) noexcept override {}
    void on_done(Peer, std::uint64_t token, Status) noexcept override {
        if (outbox != nullptr) outbox->on_done(token);
    }
    void on_peer(Peer, PeerState) noexcept override {}

    std::vector<std::byte> memory = std::vector<std::byte>(1 << 16);
    std::vector<Assignment> cancelled;
    Outbox* outbox = nullptr;
};

/// Node 0 manages and reads out; 1 and 2 build.
struct Bench {
    explicit Bench(std::uint32_t n_credits = 2) {
        network.fabrics.resize(3);
        for (Peer node = 0; node < 3; ++node)
            fabrics.push_back(std::make_unique<FakeFabric>(network, node, ears[node]));
        for (Peer node = 0; node < 3; ++node)
            for (Peer other = 0; other < 3; ++other) fabrics[node]->connect(other, {});
        config.farm = parse_roles({"em+ru", "bu", "bu"}, 3);
        config.protocol = Protocol::pull;
        config.n_credits = n_credits;
        outbox = std::make_unique<Outbox>(OutboxConfig{.self = 0, .n_nodes = 3}, *fabrics[0], clock,
                                          page.add_block<StationCounter>("station"));
        ears[0].outbox = outbox.get();
        manager = std::make_unique<EventManager>(config, true, *outbox, clock, page);
        for (Peer node = 0; node < 3; ++node) manager->on_hello(node, 100U + node);
        work();
    }
    void work() {
        manager->do_work(clock.monotonic_ns());
        for (int i = 0; i < 100; ++i) {
            for (auto& fabric : fabrics) fabric->progress();
            outbox->flush();
        }
    }
    std::uint64_t count(ManagerCounter counter) const { return manager->counters()[counter]; }

    Dice dice{seed};
    FakeNetwork network{dice};
    ManualClock clock{1'000'000'000};
    CounterPage page;
    std::array<Ear, 3> ears;
    std::vector<std::unique_ptr<FakeFabric>> fabrics;
    ExchangeConfig config;
    std::unique_ptr<Outbox> outbox;
    std::unique_ptr<EventManager> manager;
};

/// A slot that is offered twice would hold two packets.
TEST(Manager, ACreditThatIsReplayedIsRefused) {
    Bench bench;
    const Credit offered{.mep = 0, .use = 7, .slot = 0};
    bench.manager->on_credit(0, offered);
    bench.manager->on_credit(0, offered);
    EXPECT_EQ(bench.count(ManagerCounter::credits), 1U);
    EXPECT_EQ(bench.count(ManagerCounter::credits_refused), 1U);
    bench.work();
    EXPECT_EQ(bench.count(ManagerCounter::meps_assigned), 1U);

    bench.manager->on_credit(0, offered);  // while the slot holds a packet: its outcome is not known by this
    EXPECT_EQ(bench.count(ManagerCounter::meps_complete) + bench.count(ManagerCounter::meps_incomplete), 0U);
    const Credit built{.mep = 0, .use = 8, .slot = 0, .n_missing = 0};
    bench.manager->on_credit(0, built);
    bench.manager->on_credit(0, built);
    EXPECT_EQ(bench.count(ManagerCounter::meps_complete), 1U);
    EXPECT_EQ(bench.count(ManagerCounter::credits_refused), 3U);
    bench.work();
    EXPECT_EQ(bench.count(ManagerCounter::meps_assigned), 2U);
    bench.manager->on_credit(0, built);  // the packet before this one was complete, and not this one
    EXPECT_EQ(bench.count(ManagerCounter::meps_complete), 1U);
    EXPECT_EQ(bench.count(ManagerCounter::credits_refused), 4U);
}

/// Otherwise readout units would keep for ever MFPs that nobody asks for.
TEST(Manager, PacketsOfALostBuilderAreCancelledAtReadoutUnits) {
    Bench bench;
    for (const std::uint16_t slot : {std::uint16_t{0}, std::uint16_t{1}})
        bench.manager->on_credit(0, {.use = 7, .slot = slot});
    bench.manager->on_credit(1, {.use = 9, .slot = 0});
    bench.work();
    ASSERT_EQ(bench.count(ManagerCounter::meps_assigned), 3U);
    bench.manager->on_node_gone(1);
    bench.work();
    std::vector<std::uint64_t> meps;
    for (const Assignment& entry : bench.ears[0].cancelled) {
        EXPECT_EQ(entry.builder, 0);
        EXPECT_EQ(entry.use, 7U);
        meps.push_back(entry.mep);
    }
    EXPECT_THAT(meps, ::testing::UnorderedElementsAreArray(bench.manager->lost_meps()));
    EXPECT_EQ(meps.size(), 2U);
    EXPECT_TRUE(bench.ears[1].cancelled.empty()) << "a node that is gone is not notified";
    EXPECT_EQ(bench.count(ManagerCounter::meps_lost_with_builder), 2U);
}

TEST(Manager, NotesWhatALostBuilderToldAndWhatItDidNot) {
    Bench bench;
    for (const std::uint16_t slot : {std::uint16_t{0}, std::uint16_t{1}})
        bench.manager->on_credit(1, {.use = 7, .slot = slot});
    bench.work();
    bench.manager->on_credit(1, {.mep = 0, .use = 8, .slot = 1, .n_missing = 0});
    bench.manager->on_node_gone(2);
    ASSERT_EQ(bench.manager->lost_builders().size(), 1U);
    const auto& lost = bench.manager->lost_builders().front();
    EXPECT_EQ(lost.account.node, 2);
    EXPECT_EQ(lost.account.life, 102U);
    EXPECT_EQ(lost.account.n_complete, 1U);
    EXPECT_EQ(lost.n_meps, 1U);
    EXPECT_EQ(bench.manager->lost_meps(), std::vector<std::uint64_t>{1});
    EXPECT_EQ(bench.count(ManagerCounter::complete_at_lost_builders), 1U);
    bench.manager->on_hello(2, 202);  // another process in its place tells of itself only
    EXPECT_EQ(bench.manager->account_of(1).n_complete, 0U);
    EXPECT_EQ(bench.manager->account_of(1).life, 202U);
}

/// The list of them is bounded, the count of them is not.
TEST(Manager, CountsBuildersThatAreLostBeyondThoseItNotes) {
    Bench bench;
    for (std::size_t life = 0; life <= EventManager::max_lost_builders; ++life) {
        bench.manager->on_credit(1, {.use = 7, .slot = 0});
        bench.manager->do_work(bench.clock.monotonic_ns());
        bench.manager->on_node_gone(2);
        bench.work();
        bench.manager->on_hello(2, 1000 + life);
        bench.work();
        for (Peer node = 0; node < 3; ++node) bench.outbox->reset(node);  // nobody acknowledges here
    }
    EXPECT_EQ(bench.count(ManagerCounter::meps_lost_with_builder), EventManager::max_lost_builders + 1);
    EXPECT_EQ(bench.manager->lost_meps().size(), EventManager::max_lost_builders);
    EXPECT_EQ(bench.count(ManagerCounter::lost_and_not_noted), 1U);
}

TEST(OwnMessages, TheLargestIsTakenAndALargerOneIsNot) {
    Ear ear;
    OwnMessages own(std::make_unique<HandFabric>(), 0, 4, ear);
    own.connect(0, {});
    const std::vector<std::byte> larger(own.max_message_bytes() + 1);
    EXPECT_EQ(own.send(0, {}, larger, 0), Status::refused);
    EXPECT_EQ(own.send(0, {}, std::span(larger).first(own.max_message_bytes()), 0), Status::ok);
}

TEST(Manager, CountsWhatHasNoOutcomeAtItsEnd) {
    Bench bench;
    for (const std::uint16_t slot : {std::uint16_t{0}, std::uint16_t{1}})
        bench.manager->on_credit(0, {.use = 7, .slot = slot});
    bench.work();
    bench.manager->on_credit(0, {.mep = 0, .use = 8, .slot = 1, .n_missing = 0});
    bench.manager->settle();
    bench.manager->settle();
    EXPECT_EQ(bench.count(ManagerCounter::meps_open_at_end), 1U);
    EXPECT_EQ(bench.manager->open_meps(0), std::vector<std::uint64_t>{1});
    EXPECT_TRUE(bench.manager->open_meps(1).empty());
}

}  // namespace
}  // namespace anello::exchange::test::manager_test

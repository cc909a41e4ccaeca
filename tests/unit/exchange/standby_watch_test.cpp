// SPDX-License-Identifier: Apache-2.0
// When a manager may assign with a standby, and after it has lost it.
#include "exchange/event_manager/standby_watch.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "core/errors.hpp"
#include "exchange/exchange_counters.hpp"
#include "unit/exchange/fake_fabric.hpp"
#include "unit/exchange/hand_fabric.hpp"

namespace anello::exchange::test::standby_watch_test {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr Node standby = 1;

/// Node 0 of five, its watch, and others' acknowledgements by hand.
struct Bench {
    Bench() {
        config.farm = parse_roles({"all+sb"}, n_nodes);
        config.n_credits = 2;
        outbox = std::make_unique<Outbox>(OutboxConfig{.self = 0, .n_nodes = n_nodes}, fabric, clock,
                                          page.add_block<StationCounter>("station"));
        watch = std::make_unique<StandbyWatch>(config, *outbox);
        watch->begin(true, live, clock.monotonic_ns());
    }
    void step(std::uint64_t next_mep = 0) { watch->note(next_mep, clock.monotonic_ns()); }
    void post(Node to) {
        outbox->try_send(MessageType::alive, to);
        outbox->flush();
    }
    void acknowledge(Node from) {
        outbox->accept({.type = MessageType::acknowledge, .from = from, .acknowledged = outbox->posted(from)});
    }
    void lose_standby() {
        live[standby] = false;
        watch->lose(standby, clock.monotonic_ns());
        for (Node node = 0; node < n_nodes; ++node)
            if (live[node]) post(node);
        watch->on_told(live);
    }
    bool may_assign() { return watch->may_assign(live, clock.monotonic_ns()); }

    static constexpr std::size_t n_nodes = 5;
    ExchangeConfig config;
    ManualClock clock{1'000'000'000};
    CounterPage page;
    HandFabric fabric;
    std::unique_ptr<Outbox> outbox;
    std::unique_ptr<StandbyWatch> watch;
    std::vector<bool> live = std::vector<bool>(n_nodes, true);
};

/// Time counts from the posting of the message that was acknowledged, not from the arrival of the acknowledgement.
TEST(StandbyWatch, TheManagerAssignsAsLongAsItsStandbyFollows) {
    Bench bench;
    bench.step();
    bench.post(standby);
    bench.clock.advance(500 * ms);
    bench.step();
    bench.acknowledge(standby);
    bench.step();
    EXPECT_TRUE(bench.may_assign());
    bench.clock.advance(251 * ms);
    EXPECT_FALSE(bench.may_assign()) << "three quarters of the peer timeout after it was posted";
    EXPECT_FALSE(bench.watch->is_cut_off(bench.clock.monotonic_ns()));
}

TEST(StandbyWatch, NoMoreIsAssignedThanTheStandbyMayKnowOf) {
    Bench bench;
    EXPECT_EQ(bench.watch->end_mep(), 10U) << "two credits of five builders";
    bench.step(10);
    bench.post(standby);
    bench.step(10);
    EXPECT_EQ(bench.watch->end_mep(), 10U);
    bench.acknowledge(standby);
    bench.step(10);
    EXPECT_EQ(bench.watch->end_mep(), 20U);
}

TEST(StandbyWatch, OfListsOneIsUnderWayAtATime) {
    Bench bench;
    EXPECT_TRUE(bench.watch->may_tell());
    bench.post(standby);
    bench.watch->on_told(bench.live);
    EXPECT_FALSE(bench.watch->may_tell());
    bench.acknowledge(standby);
    EXPECT_TRUE(bench.watch->may_tell());
}

TEST(StandbyWatch, ItMayHaveFourMessagesToAcknowledge) {
    Bench bench;
    for (int i = 0; i < 3; ++i) bench.post(standby);
    EXPECT_TRUE(bench.watch->has_room());
    bench.post(standby);
    EXPECT_FALSE(bench.watch->has_room());
}

/// It needs three of five nodes, itself included, as two may follow the standby.
TEST(StandbyWatch, WithoutItsStandbyAManagerGoesOnWithHalfOfTheNodes) {
    Bench bench;
    bench.lose_standby();
    EXPECT_FALSE(bench.may_assign());
    bench.acknowledge(2);
    EXPECT_FALSE(bench.may_assign());
    bench.clock.advance(2'001 * ms);
    EXPECT_TRUE(bench.watch->is_cut_off(bench.clock.monotonic_ns()));
    bench.acknowledge(3);
    EXPECT_TRUE(bench.may_assign());
    EXPECT_EQ(bench.watch->state(), StandbyWatch::State::none);
    EXPECT_EQ(bench.watch->end_mep(), std::numeric_limits<std::uint64_t>::max());
}

/// The standby may count by the list before the last, which it had not acknowledged.
TEST(StandbyWatch, BothListsThatTheStandbyMayCountByAreAskedOf) {
    Bench bench;
    bench.live[4] = bench.live[3] = false;
    bench.post(standby);
    bench.watch->on_told(bench.live);  // three live: the manager and one are a majority of three, and not of five
    bench.lose_standby();
    bench.acknowledge(2);
    EXPECT_FALSE(bench.may_assign());
}

/// The node may have followed the standby before it died.
TEST(StandbyWatch, WhoHasComeAgainSinceTheStandbyHeardOfItDoesNotCount) {
    for (const bool has_standby_heard : {false, true}) {
        Bench bench;
        bench.watch->lose(3, bench.clock.monotonic_ns());
        bench.post(standby);
        bench.watch->on_told(bench.live);
        if (has_standby_heard) bench.acknowledge(standby);
        bench.step();
        bench.lose_standby();
        bench.acknowledge(2);
        bench.acknowledge(3);
        EXPECT_EQ(bench.may_assign(), has_standby_heard);
    }
}

TEST(StandbyWatch, WithoutAStandbyNothingIsWaitedFor) {
    Bench bench;
    bench.watch->begin(false, bench.live, bench.clock.monotonic_ns());
    bench.watch = std::make_unique<StandbyWatch>(bench.config, *bench.outbox);
    bench.clock.advance(10'000 * ms);
    EXPECT_TRUE(bench.may_assign());
    EXPECT_TRUE(bench.watch->may_tell());
    EXPECT_TRUE(bench.watch->has_room());
}

TEST(StandbyRole, IsOfOneNodeThatIsNotTheManagerOfThreeOrMore) {
    EXPECT_EQ(parse_roles({"all+sb"}, 3).standby, 1);
    EXPECT_EQ(parse_roles({"em", "ru+bu", "sb+ru"}, 3).standby, 2);
    EXPECT_EQ(parse_roles({"all"}, 3).standby, no_node);
    const std::vector<std::vector<std::string>> wrong{
        {"em+sb", "ru", "bu"}, {"em", "sb+ru", "sb+bu"}, {"em", "sb+sb", "ru+bu"}};
    for (const auto& roles : wrong) EXPECT_THROW(parse_roles(roles, 3), ConfigError) << roles[0];
    EXPECT_THROW(parse_roles({"em+ru", "sb+bu"}, 2), ConfigError);
    EXPECT_THROW(parse_roles({"all+sb"}, 2), ConfigError);
}

/// The number of the last slot would say that a packet was built lately.
TEST(StandbyRole, LeavesRoomForAMark) {
    ExchangeConfig config;
    config.farm = parse_roles({"all+sb"}, 3);
    config.max_mfp_bytes = 1'000;
    config.n_credits = 65'535;
    EXPECT_NO_THROW(config.validate());
    config.n_credits = 65'536;
    EXPECT_THROW(config.validate(), ConfigError);
    config.farm = parse_roles({"all"}, 3);
    EXPECT_NO_THROW(config.validate());
}

}  // namespace
}  // namespace anello::exchange::test::standby_watch_test

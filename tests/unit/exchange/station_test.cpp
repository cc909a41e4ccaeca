// SPDX-License-Identifier: Apache-2.0
// Farms of a few nodes, where one thing goes wrong at a time.
#include <gtest/gtest.h>

#include <set>

#include "core/errors.hpp"
#include "unit/exchange/farm_rig.hpp"

namespace anello::exchange::test::station_test {
namespace {

constexpr std::uint32_t seed = 20;

TEST(Roles, AreReadAndRefusedByName) {
    const Farm all = parse_roles({"all"}, 3);
    EXPECT_EQ(all.manager, 0);
    EXPECT_EQ(all.readouts, (std::vector<Node>{0, 1, 2}));
    EXPECT_EQ(all.builders, (std::vector<Node>{0, 1, 2}));
    const Farm some = parse_roles({"ru", "em + bu", "ru+bu"}, 3);
    EXPECT_EQ(some.manager, 1);
    EXPECT_EQ(some.readouts, (std::vector<Node>{0, 2}));
    EXPECT_EQ(some.builder_of[1], 0);
    EXPECT_EQ(some.readout_of[1], no_unit);
    const std::vector<std::vector<std::string>> wrong{{"em+ru", "bu", "bu"}, {"ru", "bu"},       {"em+ru", "em+bu"},
                                                      {"em", "bu"},          {"em+ru+ru", "bu"}, {"em+xy", "bu"}};
    for (const auto& roles : wrong) EXPECT_THROW(parse_roles(roles, 2), ConfigError);
    EXPECT_THROW(parse_roles({"all"}, 0), ConfigError);
    EXPECT_THROW(parse_roles({"ru"}, 2), ConfigError);
    EXPECT_THROW(parse_roles({"all", "bu", "bu"}, 2), ConfigError);
}

/// The order in which each readout unit sends a round.
TEST(Shift, EachUnitBeginsAtTheBuilderBehindItself) {
    RigConfig config{.n_nodes = 4, .protocol = Protocol::shift, .n_meps = 4};
    FarmRig rig(config, seed);
    std::vector<std::vector<Peer>> order(4);
    for (Peer node = 0; node < 4; ++node)
        rig.members[node].fabric->on_send = [&order, node](Peer to, std::span<const std::byte> header) {
            MessageHeader message;
            if (read(header, message) && message.type == MessageType::mfp) order[node].push_back(to);
        };
    ASSERT_TRUE(rig.run());
    for (Peer node = 0; node < 4; ++node) {
        ASSERT_EQ(order[node].size(), 3U);  // the fourth is its own
        for (Peer i = 0; i < 3; ++i) EXPECT_EQ(order[node][i], (node + 1 + i) % 4);
    }
}

TEST(Pull, ReadoutUnitsSendOnlyWhatWasAskedFor) {
    FarmRig rig({.n_nodes = 3, .protocol = Protocol::pull, .n_meps = 9}, seed);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.count(0, "manager", "meps_complete"), 9U);
    EXPECT_EQ(rig.sum("readout", {"assigned"}), 27U);
}

/// A source that is stuck: its node lives, but gives nothing.
TEST(Timeout, APacketWithoutOneSourceIsHandedOnAndSaysSo) {
    FarmRig rig({.n_nodes = 2, .n_meps = 6}, seed);
    rig.members[1].generator.reset();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.count(0, "manager", "meps_incomplete"), 6U);
    EXPECT_EQ(rig.count(0, "manager", "sources_missing"), 6U);
    EXPECT_EQ(rig.sum("builder", {"meps_timed_out"}), 6U);
    for (const auto& member : rig.members)
        for (const auto& [mep, n_missing] : member.sink->missing_of) EXPECT_EQ(n_missing, 1U);
}

/// Builders have credits for all of it long before the first data.
TEST(Timeout, DoesNotBeginBeforeThereIsSomethingToWaitWith) {
    // A packet of 4 events takes 40 ms, and 12 of them wait with it.
    FarmRig rig({.n_meps = 12, .n_credits = 6, .rate_hz = 100, .timeout_ns = 50'000'000, .waits_for_data = true}, seed);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.count(0, "manager", "meps_complete"), 12U);
}

/// Meanwhile others build without it, many times as many packets as there are slots: late parts are not kept.
TEST(Timeout, ASourceThatWasStuckForLongGivesAgain) {
    for (const Protocol protocol : {Protocol::push, Protocol::pull, Protocol::shift}) {
        FarmRig rig({.roles = {"em+ru", "ru", "bu", "bu"},
                     .n_nodes = 4,
                     .protocol = protocol,
                     .n_meps = 300,
                     .rate_hz = 2000,
                     .timeout_ns = 10'000'000},
                    seed);
        rig.step(500);
        std::unique_ptr<Generator> stuck = std::move(rig.members[1].generator);
        while (rig.count(0, "manager", "meps_assigned") < 150) rig.step(100);
        rig.members[1].generator = std::move(stuck);
        ASSERT_TRUE(rig.run());
        EXPECT_GT(rig.count(0, "manager", "meps_complete"), 100U) << name_of(protocol);
        EXPECT_GE(rig.count(1, "generator", "mfps"), 300U) << name_of(protocol);
    }
}

/// The process is there, and so are its connections, but it does nothing.
TEST(Silence, AStalledNodeIsTakenOutWithinThePeerTimeout) {
    FarmRig rig({.n_nodes = 3, .n_meps = 400}, seed);
    rig.step(1500);
    rig.stall(2);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.members[0].station->seen(2), NodeState::silent);
    EXPECT_EQ(rig.count(0, "manager", "nodes_lost"), 1U);
    EXPECT_EQ(rig.count(0, "manager", "meps_assigned"), 400U);
}

/// Complete means all sources of the run, not all that are left of them.
TEST(Failure, WithoutAReadoutUnitNoPacketIsComplete) {
    for (const Protocol protocol : {Protocol::push, Protocol::pull, Protocol::shift}) {
        FarmRig rig({.roles = {"em+ru+bu", "bu", "ru"}, .n_nodes = 3, .protocol = protocol, .n_meps = 300}, seed);
        rig.step(1200);
        rig.kill(2);
        rig.step(200);
        const std::uint64_t n_before = rig.count(0, "manager", "meps_assigned");
        ASSERT_LT(n_before, 250U);
        ASSERT_TRUE(rig.run());
        EXPECT_GE(rig.count(0, "manager", "meps_incomplete"), 300 - n_before) << name_of(protocol);
        EXPECT_EQ(rig.count(0, "manager", "sources_missing"), rig.count(0, "manager", "meps_incomplete"));
        EXPECT_GE(rig.sum("builder", {"sources_gone"}), 300 - n_before);
        for (const Peer builder : {Peer{0}, Peer{1}}) {
            EXPECT_EQ(rig.members[builder].sink->n_false, 0U);
            for (const auto& [mep, n_missing] : rig.members[builder].sink->missing_of)
                if (mep >= n_before) EXPECT_EQ(n_missing, 1U) << mep;
        }
    }
}

/// It was only stopped, and everything it held is built when it runs again: its report then corrects what was said of
/// it.
TEST(Failure, ABuilderThatGoesOnTellsWhatBecameOfItsPackets) {
    FarmRig rig({.roles = {"em+ru", "ru", "bu", "bu"}, .n_nodes = 4, .n_meps = 300}, seed);
    rig.step(1500);
    rig.stall(3);
    while (rig.count(0, "manager", "nodes_lost") == 0) rig.step(100);
    rig.go_on(3);
    ASSERT_TRUE(rig.run());
    rig.settle();
    ASSERT_TRUE(rig.members[3].station->failed());
    const EventManager& manager = *rig.members[0].station->manager();
    const BuilderUnit& builder = *rig.members[3].station->builder();
    ASSERT_EQ(manager.lost_builders().size(), 1U);
    EXPECT_EQ(manager.lost_builders().front().account.life, rig.members[3].station->life());
    const std::set<std::uint64_t> lost(manager.lost_meps().begin(), manager.lost_meps().end());
    std::uint64_t n_built_all_the_same = 0;
    for (const auto& last : builder.output().handed_on())
        n_built_all_the_same += last.is_known && lost.contains(last.mep);
    EXPECT_GT(n_built_all_the_same, 0U);
    const auto& told = manager.lost_builders().front().account;
    EXPECT_EQ(rig.members[3].sink->n_taken, told.n_complete + told.n_incomplete + n_built_all_the_same);
    EXPECT_EQ(rig.count(3, "builder", "meps_complete") + rig.count(3, "builder", "meps_incomplete"),
              rig.members[3].sink->n_taken);
}

/// Each node completes what it has begun, and knows the source of each part.
TEST(Failure, WithoutTheManagerWhatIsBegunIsBuilt) {
    for (const Protocol protocol : {Protocol::push, Protocol::pull, Protocol::shift})
        for (const bool waits_for_data : {false, true}) {
            FarmRig rig({.roles = {"em+ru", "ru+bu", "ru+bu", "bu"},
                         .n_nodes = 4,
                         .protocol = protocol,
                         .n_meps = 10'000,
                         .rate_hz = 2000,
                         .waits_for_data = waits_for_data},
                        seed);
            rig.step(3000);
            rig.kill(0);
            ASSERT_TRUE(rig.run());
            rig.settle();
            for (const Peer node : {Peer{1}, Peer{2}, Peer{3}}) {
                EXPECT_EQ(rig.count(node, "builder", "meps_left"), 0U) << name_of(protocol);
                EXPECT_EQ(rig.count(node, "builder", "meps_opened"), rig.members[node].sink->n_taken);
                EXPECT_EQ(rig.members[node].sink->n_false, 0U);
                const BuilderUnit& builder = *rig.members[node].station->builder();
                for (const std::uint16_t unit :
                     {std::uint16_t{1}, std::uint16_t{2}}) {  // of nodes 1 and 2, which live as long
                    const std::uint32_t n_sent = rig.members[unit].station->readout()->n_numbered(node - 1);
                    EXPECT_EQ(builder.senders().arrivals(unit).newest(), n_sent) << node << " from " << unit;
                    EXPECT_EQ(builder.senders().arrivals(unit).n_come(), n_sent);
                }
            }
        }
}

/// This holds, too, if its parts were faster than the manager's word, which then never comes.
TEST(Failure, WithoutTheManagerWhatIsWholeDoesNotWait) {
    for (std::size_t n_steps = 1000; n_steps < 1060; n_steps += 3) {
        FarmRig rig({.roles = {"em", "ru", "bu"}, .n_nodes = 3, .n_meps = 10'000}, seed);
        rig.step(n_steps);
        rig.kill(0);
        ASSERT_TRUE(rig.run());
        EXPECT_LE(rig.count(2, "builder", "meps_timed_out"), rig.count(2, "builder", "meps_incomplete")) << n_steps;
    }
}

/// A node's pause is shorter than the timeout, at any of its steps, and so is its silence for others.
TEST(Silence, WhoPausesForLessThanThePeerTimeoutIsNotDead) {
    for (const Peer victim : {Peer{0}, Peer{2}})
        for (int phase = 0; phase < 8; ++phase) {
            FarmRig rig({.n_nodes = 3, .n_meps = 0, .rate_hz = 100, .step_ns = 5'000'000}, seed);
            rig.step(300 + 40 * phase);
            rig.stall(victim);
            rig.step(196);  // 0.98 s of the second
            rig.go_on(victim);
            rig.step(400);
            EXPECT_EQ(rig.count(0, "manager", "nodes_lost"), 0U) << phase;
            for (const auto& member : rig.members) EXPECT_FALSE(member.station->failed());
        }
}

TEST(Silence, AMachineThatStandsStillTakesNobodyForDead) {
    FarmRig rig({.n_nodes = 3, .n_meps = 0, .rate_hz = 100, .step_ns = 5'000'000}, seed);
    rig.step(300);
    rig.stand_still(10'000'000'000);
    rig.step(600);
    EXPECT_EQ(rig.count(0, "manager", "nodes_lost"), 0U);
    for (const auto& member : rig.members) EXPECT_FALSE(member.station->failed());
}

TEST(Failure, WithoutTheManagerAllEndAndSayWhy) {
    FarmRig rig({.n_nodes = 3, .n_meps = 10'000}, seed);
    rig.step(1500);
    rig.kill(0);
    ASSERT_TRUE(rig.run());
    for (const Peer node : {Peer{1}, Peer{2}}) {
        EXPECT_TRUE(rig.members[node].station->failed());
        EXPECT_NE(rig.members[node].station->failure().find("the event manager, node 0"), std::string::npos);
    }
}

TEST(Failure, WithoutABuilderTheRunEndsAndSaysWhy) {
    FarmRig rig({.roles = {"em+ru", "ru", "bu"}, .n_nodes = 3, .n_meps = 10'000}, seed);
    rig.step(1500);
    rig.kill(2);
    ASSERT_TRUE(rig.run());
    EXPECT_TRUE(rig.members[0].station->finished());
    EXPECT_EQ(rig.members[0].station->failure(), "no builder is left");
}

TEST(Start, NodesThatDoNotComeAreLeftOut) {
    FarmRig rig({.n_nodes = 3, .n_meps = 5, .step_ns = 1'000'000}, seed);
    rig.kill(1);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.count(0, "manager", "meps_incomplete"), 5U) << "one source of the run is not in them";
    EXPECT_EQ(rig.sum("builder", {"sources_gone"}), 5U);
    EXPECT_EQ(rig.count(0, "manager", "nodes_lost"), 1U);
}

TEST(Start, AnEndBeforeAllHaveComeIsAnEndForAll) {
    FarmRig rig({.n_nodes = 3, .n_meps = 0}, seed);
    rig.stall(2);  // and so the others wait
    rig.step(500);
    rig.members[0].station->request_end();
    ASSERT_TRUE(rig.run(20'000));
    EXPECT_TRUE(rig.members[0].station->finished());
    EXPECT_TRUE(rig.members[1].station->finished());
    EXPECT_EQ(rig.count(0, "manager", "meps_complete"), rig.count(0, "manager", "meps_assigned"));
}

TEST(Start, ConnectionsThatBreakBeforeTheRunAreMadeAnew) {
    FarmRig rig({.n_nodes = 3, .n_meps = 20}, seed);
    for (Peer node = 0; node < 3; ++node) rig.members[node].fabric->progress();
    rig.members[1].fabric->cut(0);
    rig.members[1].fabric->cut(2);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.count(0, "manager", "meps_complete"), 20U);
    EXPECT_EQ(rig.count(0, "manager", "nodes_lost"), 0U);
    EXPECT_EQ(rig.sum("readout", {"mfps_sent"}), 60U);
}

TEST(Start, WhoIsConnectedAnewIsSeenAsConnecting) {
    FarmRig rig({.n_nodes = 3}, seed);
    for (int round = 0; round < 3; ++round)
        for (const auto& member : rig.members) member.station->do_work();
    const Station& station = *rig.members[1].station;
    ASSERT_EQ(station.seen(2), NodeState::up);
    rig.stall(2);
    rig.members[1].fabric->cut(2);
    rig.members[1].fabric->progress();
    EXPECT_EQ(station.seen(2), NodeState::broken);
    rig.clock.advance(ExchangeConfig{}.peer_timeout_ns);
    rig.members[1].station->do_work();
    EXPECT_EQ(station.seen(2), NodeState::connecting);
}

TEST(Rejoin, ANodeThatComesAgainReadsOutAndBuildsAgain) {
    FarmRig rig({.n_nodes = 3, .n_meps = 2000}, seed);
    rig.step(2000);
    rig.kill(1);
    rig.step(500);
    rig.restart(1);
    ASSERT_TRUE(rig.run());
    EXPECT_GT(rig.count(1, "readout", "mfps_sent"), 0U);
    EXPECT_GT(rig.count(1, "builder", "meps_complete"), 0U);
    EXPECT_EQ(rig.count(0, "manager", "nodes_joined"), 4U);
    EXPECT_EQ(rig.count(0, "manager", "meps_assigned"), 2000U);
}

/// A station that is spoken to by hand, as the manager, node 0, and the readout unit of node 1 would.
void receive(Station& station, Node from, const MessageHeader& header, std::span<const std::byte> payload = {}) {
    std::array<std::byte, message_header_bytes> bytes;
    write(header, bytes);
    std::span<std::byte> place;
    if (!payload.empty()) place = station.listener().place(from, bytes, payload.size());
    std::copy_n(payload.begin(), place.size(), place.begin());
    station.listener().on_message(from, bytes, place);
}
void receive_entry_of_node_1(Station& station, std::uint32_t sequence, bool live, std::uint32_t life) {
    std::array<std::byte, entry_bytes> entry;
    write(NodeEntry{.node = 1, .live = live, .life = life}, entry.data());
    receive(station, 0, {.type = MessageType::farm, .from = 0, .sequence = sequence, .n_entries = 1}, entry);
}

/// The manager's word about a former life comes after messages of the new one, and does not concern these.
TEST(Rejoin, WhatANodeSentIsNotWrittenOffWithItsFormerLife) {
    FarmRig rig({.roles = {"em", "ru", "bu"}, .n_nodes = 3}, seed);
    Station& station = *rig.members[2].station;
    const auto send_part = [&](std::uint32_t number) {
        receive(station, 1, {.type = MessageType::mfp, .from = 1, .sequence = number});
    };
    station.connect(1, 1, {});
    for (const Node node : {Node{0}, Node{1}}) station.listener().on_peer(node, PeerState::up);
    receive_entry_of_node_1(station, 1, true, 1);
    for (const std::uint32_t number : {1U, 2U, 3U}) send_part(number);
    station.listener().on_peer(1, PeerState::down);
    EXPECT_EQ(rig.count(2, "builder", "taken_from_dead_readout"), 3U);
    station.connect(1, 2, {});
    station.listener().on_peer(1, PeerState::up);
    for (const std::uint32_t number : {1U, 2U}) send_part(number);
    receive_entry_of_node_1(station, 2, false, 1);
    receive_entry_of_node_1(station, 3, true, 2);
    EXPECT_EQ(rig.count(2, "builder", "taken_from_dead_readout"), 3U) << "of the new life nothing";
    receive_entry_of_node_1(station, 4, false, 2);
    EXPECT_EQ(rig.count(2, "builder", "taken_from_dead_readout"), 5U);
}

/// All messages about the former life come after the connection to the new one, which they do not end.
TEST(Rejoin, LateNewsOfAFormerLifeLeaveTheNewConnectionAlone) {
    FarmRig rig({.roles = {"em", "ru", "bu"}, .n_nodes = 3}, seed);
    Station& station = *rig.members[2].station;
    station.connect(1, 2, {});
    for (const Node node : {Node{0}, Node{1}}) station.listener().on_peer(node, PeerState::up);
    receive_entry_of_node_1(station, 1, true, 1);
    receive_entry_of_node_1(station, 2, false, 1);
    receive(station, 1, {.type = MessageType::mfp, .from = 1, .sequence = 1});
    station.settle();
    EXPECT_EQ(station.seen(1), NodeState::up);
    EXPECT_EQ(rig.count(2, "builder", "taken_from_dead_readout"), 0U);
}

/// The manager may know of a new life before the control plane has sent its address.
TEST(Rejoin, EarlyNewsOfANewLifeCountOnceItIsConnected) {
    FarmRig rig({.roles = {"em", "ru", "bu"}, .n_nodes = 3}, seed);
    Station& station = *rig.members[2].station;
    station.connect(1, 1, {});
    for (const Node node : {Node{0}, Node{1}}) station.listener().on_peer(node, PeerState::up);
    receive_entry_of_node_1(station, 1, true, 2);
    station.connect(1, 2, {});
    station.listener().on_peer(1, PeerState::up);
    receive(station, 1, {.type = MessageType::mfp, .from = 1, .sequence = 1});
    EXPECT_EQ(rig.count(2, "builder", "taken_from_dead_readout"), 0U);
    receive_entry_of_node_1(station, 2, false, 2);
    EXPECT_EQ(rig.count(2, "builder", "taken_from_dead_readout"), 1U) << "it was this builder's source";
}

/// It was only suspended, and sends until the connection is taken from it: nothing of that is in any account,
/// even if the run ends before.
TEST(Failure, WhatANodeSendsWhenItIsTakenForDeadIsWrittenOff) {
    FarmRig rig({.roles = {"em", "ru", "bu"}, .n_nodes = 3}, seed);
    Station& station = *rig.members[2].station;
    station.connect(1, 1, {});
    for (const Node node : {Node{0}, Node{1}}) station.listener().on_peer(node, PeerState::up);
    receive_entry_of_node_1(station, 1, true, 1);
    receive(station, 1, {.type = MessageType::mfp, .from = 1, .sequence = 1});
    receive_entry_of_node_1(station, 2, false, 1);
    receive(station, 1, {.type = MessageType::mfp, .from = 1, .sequence = 2});
    station.settle();
    EXPECT_EQ(rig.count(2, "builder", "mfps_malformed"), 2U);
    EXPECT_EQ(rig.count(2, "builder", "taken_from_dead_readout"), 2U);
}

/// A readout unit and a builder that both still reach the manager: only its packets lack that source. With pull, the
/// unit learns from the others' requests that some MFPs are not wanted.
TEST(Link, ThatIsCutDoesNotHoldUpOtherBuilders) {
    for (const Protocol protocol : {Protocol::push, Protocol::pull, Protocol::shift})
        for (const bool waits_for_data : {false, true}) {
            FarmRig rig({.roles = {"em+ru", "ru", "bu", "bu"},
                         .n_nodes = 4,
                         .protocol = protocol,
                         .n_meps = 200,
                         .waits_for_data = waits_for_data},
                        seed);
            rig.step(1500);
            rig.members[1].fabric->cut(3);
            ASSERT_TRUE(rig.run(20'000));
            // At most the number of slots of both builders: 41 of 60 seeds reach it.
            const std::uint64_t n_held_up = protocol == Protocol::pull ? 2 * RigConfig{}.n_credits : 0;
            EXPECT_LE(rig.sum("builder", {"meps_timed_out"}), n_held_up);
            EXPECT_LE(rig.count(2, "builder", "meps_incomplete"), n_held_up);
            EXPECT_GT(rig.count(3, "builder", "meps_incomplete"), 0U);
        }
}

/// A packet assigned after the link broke, and before it had data, is cancelled when the builder dies.
TEST(Link, ToABuilderThatThenDiesHoldsUpNobody) {
    for (const Protocol protocol : {Protocol::push, Protocol::pull, Protocol::shift}) {
        FarmRig rig({.roles = {"em+ru", "ru", "bu", "bu"},
                     .n_nodes = 4,
                     .protocol = protocol,
                     .n_meps = 100,
                     .rate_hz = 400,
                     .waits_for_data = true},
                    seed);
        rig.step(1500);
        rig.members[1].fabric->cut(3);
        rig.step(1500);
        rig.kill(3);
        ASSERT_TRUE(rig.run());
        EXPECT_EQ(rig.count(2, "builder", "meps_timed_out"), 0U) << name_of(protocol);
        EXPECT_GT(rig.count(2, "builder", "meps_complete"), 80U);
    }
}

TEST(End, WhoeverAsksForItTheRunEndsOrderly) {
    FarmRig rig({.n_nodes = 3, .n_meps = 0}, seed);
    rig.step(3000);
    rig.members[2].station->request_end();
    ASSERT_TRUE(rig.run());
    const std::uint64_t n_assigned = rig.count(0, "manager", "meps_assigned");
    EXPECT_GT(n_assigned, 0U);
    EXPECT_EQ(rig.count(0, "manager", "meps_complete"), n_assigned);
    EXPECT_EQ(rig.sum("builder", {"meps_complete"}), n_assigned);
    EXPECT_GT(rig.sum("station", {"control_received"}), n_assigned);
    EXPECT_GE(rig.sum("station", {"control_sent"}), rig.sum("station", {"control_received"}));
    EXPECT_EQ(rig.sum("station", {"control_resent", "control_out_of_order", "malformed"}), 0U);
}

/// Each MFP that a readout unit took has one outcome, whether or not its transport ever reported on it.
void expect_readout_to_balance(const FarmRig& rig, Peer node) {
    EXPECT_EQ(rig.count(node, "generator", "mfps"), rig.count(node, "readout", "mfps_taken"));
    std::uint64_t n_outcomes = 0;
    for (const char* name : {"mfps_sent", "mfps_lost", "mfps_lost_to_dead_builder", "mfps_too_late",
                             "mfps_before_start", "mfps_left_at_end", "mfps_in_flight_at_end"})
        n_outcomes += rig.count(node, "readout", name);
    EXPECT_EQ(rig.count(node, "readout", "mfps_taken"), n_outcomes) << "node " << node;
}

/// The node waits for its messages under way, and not for ever.
TEST(End, WhatATransportNeverReportsIsCountedAsInFlight) {
    FarmRig rig({.roles = {"em", "ru", "bu"}, .n_nodes = 3, .n_meps = 0, .rate_hz = 2000}, seed);
    rig.step(3000);
    rig.members[1].fabric->keeps_all = true;
    rig.step(300);
    rig.kill(0);
    ASSERT_TRUE(rig.run());
    ASSERT_TRUE(rig.members[1].station->failed());
    rig.settle();
    rig.settle();
    const ReadoutUnit& readout = *rig.members[1].station->readout();
    EXPECT_GT(rig.count(1, "readout", "mfps_in_flight_at_end"), 0U);
    EXPECT_EQ(rig.count(1, "readout", "mfps_in_flight_at_end"), readout.n_in_flight(0));
    const Arrivals& arrivals = rig.members[2].station->builder()->senders().arrivals(0);
    EXPECT_EQ(readout.n_numbered(0) - arrivals.newest(), readout.n_in_flight(0));
    expect_readout_to_balance(rig, 1);
    rig.members[1].fabric->disconnect(2);  // which reports them, after all is counted
    expect_readout_to_balance(rig, 1);
}

/// Threads stop in the midst of everything, as in a node that is ordered to end at once, or does not end in time.
TEST(End, WheneverThreadsStopAllIsAccountedFor) {
    std::uint64_t n_in_flight = 0, n_cut = 0, n_open = 0;
    for (const Protocol protocol : {Protocol::push, Protocol::pull, Protocol::shift})
        for (std::size_t n_steps = 1000; n_steps < 1200; n_steps += 7) {
            FarmRig rig({.n_nodes = 3, .protocol = protocol, .n_meps = 0, .rate_hz = 2000}, seed);
            rig.step(n_steps);
            rig.settle();
            std::uint64_t n_under_way = 0;
            for (const Peer node : {Peer{0}, Peer{1}, Peer{2}}) {
                expect_readout_to_balance(rig, node);
                EXPECT_EQ(rig.count(node, "builder", "meps_opened"),
                          rig.count(node, "builder", "meps_complete") + rig.count(node, "builder", "meps_left"));
                for (const std::uint16_t from : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{2}})
                    n_under_way += rig.members[from].station->readout()->n_numbered(node) -
                                   rig.members[node].station->builder()->senders().arrivals(from).newest();
            }
            EXPECT_EQ(rig.sum("readout", {"mfps_sent", "mfps_in_flight_at_end"}),
                      rig.sum("builder", {"mfps_received", "mfps_cut"}) + n_under_way);
            EXPECT_EQ(rig.count(0, "manager", "meps_assigned"),
                      rig.count(0, "manager", "meps_complete") + rig.count(0, "manager", "meps_open_at_end"));
            n_in_flight += rig.sum("readout", {"mfps_in_flight_at_end"});
            n_cut += rig.sum("builder", {"mfps_cut"});
            n_open += rig.count(0, "manager", "meps_open_at_end");
        }
    EXPECT_GT(n_in_flight, 0U);
    EXPECT_GT(n_cut, 0U);
    EXPECT_GT(n_open, 0U);
}

TEST(Hostile, AMfpIsOnlyForBuildersAndOnlyOfReadoutUnits) {
    FarmRig rig({.roles = {"em", "ru", "bu"}, .n_nodes = 3}, seed);
    for (const auto& [victim, from] : {std::pair<Node, Node>{1, 1}, {2, 0}}) {
        fabric::Listener& listener = rig.members[victim].station->listener();
        std::array<std::byte, message_header_bytes> bytes;
        write(MessageHeader{.type = MessageType::mfp, .from = from}, bytes);
        EXPECT_TRUE(listener.place(from, bytes, 10).empty());
        listener.on_message(from, bytes, {});
        EXPECT_EQ(rig.count(victim, "station", "malformed"), 2U);
    }
}

/// Random bytes, and messages with random fields behind a right beginning, from a node that belongs to the farm.
TEST(Hostile, WhateverOneNodeSaysTheOthersGoOn) {
    FarmRig rig({.n_nodes = 3, .n_meps = 100}, seed);
    std::vector<std::byte> payload(512);
    std::uint64_t n_refused = 0;
    for (int i = 0; i < 20'000 && !rig.is_over(); ++i) {
        rig.step();
        MessageHeader header{.type = static_cast<MessageType>(1 + rig.dice.below(14)),
                             .from = static_cast<Node>(rig.dice.below(4)),
                             .n_entries = rig.dice.below(33),
                             .mep = rig.dice.one_in(2) ? rig.dice.below(100) : ~0ULL,
                             .use = rig.dice.below(5),
                             .slot = static_cast<std::uint16_t>(rig.dice.below(6))};
        std::array<std::byte, message_header_bytes> bytes;
        write(header, bytes);
        if (rig.dice.one_in(4))
            bytes[rig.dice.below(message_header_bytes)] = static_cast<std::byte>(rig.dice.below(256));
        for (std::byte& byte : payload) byte = static_cast<std::byte>(rig.dice.below(256));
        fabric::Listener& victim = rig.members[0].station->listener();
        const std::size_t n = rig.dice.below(512);
        const std::span<std::byte> place = n == 0 ? std::span<std::byte>{} : victim.place(2, bytes, n);
        if (n > 0 && place.size() < n) {
            ++n_refused;
            continue;
        }
        std::copy_n(payload.begin(), n, place.begin());
        victim.on_message(2, bytes, place);
    }
    EXPECT_GT(n_refused, 0U);
    EXPECT_TRUE(rig.run());
    EXPECT_EQ(rig.count(0, "manager", "meps_assigned"), rig.count(0, "manager", "meps_complete") +
                                                            rig.count(0, "manager", "meps_incomplete") +
                                                            rig.count(0, "manager", "meps_lost_with_builder"));
}

}  // namespace
}  // namespace anello::exchange::test::station_test

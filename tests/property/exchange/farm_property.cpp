// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "unit/exchange/farm_rig.hpp"

namespace anello::exchange::test {
namespace {

RigConfig random_config(Dice& dice) {
    RigConfig config;
    config.n_nodes = 1 + dice.below(4);
    config.protocol = static_cast<Protocol>(dice.below(3));
    config.n_meps = 1 + dice.below(40);
    config.n_credits = 1 + dice.below(4);
    config.n_buffers = 6 + dice.below(8);
    config.packing = 1 + dice.below(5);
    config.payload = dice.one_in(2) ? PayloadMode::fresh : PayloadMode::prepared;
    config.when_full = dice.one_in(2) ? WhenFull::wait : WhenFull::drop;
    config.rate_hz = dice.one_in(2) ? 0 : 5000;
    if (config.n_nodes > 1 && dice.one_in(3)) {  // one that only reads out, one that only builds
        config.roles.assign(config.n_nodes, "ru+bu");
        config.roles.front() = "em+ru";
        config.roles.back() = "bu";
    }
    return config;
}

/// Each MEP that was assigned had one outcome, nobody built one twice, and nothing changed under the sink's eyes.
void check_outcomes(const FarmRig& rig) {
    RC_ASSERT(rig.count(0, "manager", "meps_assigned") == rig.count(0, "manager", "meps_complete") +
                                                              rig.count(0, "manager", "meps_incomplete") +
                                                              rig.count(0, "manager", "meps_lost_with_builder"));
    std::map<std::uint64_t, int> n_built;
    for (std::size_t node = 0; node < rig.members.size(); ++node) {
        if (!rig.members[node].sink) continue;
        RC_ASSERT(rig.members[node].sink->n_changed == 0U);
        RC_ASSERT(rig.members[node].sink->n_false == 0U);
        for (const auto& [mep, n_missing] : rig.members[node].sink->missing_of) ++n_built[mep];
    }
    for (const auto& [mep, n] : n_built) RC_ASSERT(n == 1);
    RC_ASSERT(rig.sum("builder", {"fragments_wrong_checksum", "mfps_malformed", "mfps_wrong"}) == 0U);
    RC_ASSERT(rig.sum("builder", {"fragments_verified"}) == rig.sum("builder", {"fragments_ok"}));
}

void check_readouts(const FarmRig& rig) {
    for (Peer node = 0; node < rig.members.size(); ++node) {
        if (!rig.lives[node]) continue;
        RC_ASSERT(rig.count(node, "generator", "mfps") == rig.count(node, "readout", "mfps_taken"));
        std::uint64_t outcomes = 0;
        for (const char* name : {"mfps_sent", "mfps_lost", "mfps_lost_to_dead_builder", "mfps_too_late",
                                 "mfps_before_start", "mfps_left_at_end", "mfps_in_flight_at_end"})
            outcomes += rig.count(node, "readout", name);
        RC_ASSERT(rig.count(node, "readout", "mfps_taken") == outcomes);
    }
}

/// No node died: of each MEP each source's part came, or is missing, and no slot was taken for another.
void check_parts(const FarmRig& rig, const RigConfig& config) {
    const std::uint64_t n_readouts = parse_roles(config.roles, config.n_nodes).readouts.size();
    RC_ASSERT(rig.sum("builder", {"mfps_received", "sources_missing"}) == config.n_meps * n_readouts);
    RC_ASSERT(rig.sum("builder", {"mfps_unexpected"}) == 0U);
    RC_ASSERT(rig.count(0, "manager", "credits_refused") == 0U);
}

std::uint64_t came(const FarmRig& rig) {
    return rig.sum("builder", {"mfps_received", "mfps_malformed", "mfps_wrong", "mfps_late", "mfps_duplicate",
                               "mfps_unexpected", "mfps_cut", "mfps_never_came"}) -
           rig.sum("builder", {"taken_from_dead_readout", "mfps_repeated"});
}

/// Numbers that a readout unit gave its messages after the last that came, over all pairs that live.
std::uint64_t n_after_the_last(const FarmRig& rig) {
    std::uint64_t n = 0;
    for (Peer from = 0; from < rig.members.size(); ++from)
        for (Peer to = 0; to < rig.members.size(); ++to) {
            const Farm& farm = rig.members[from].station->farm();
            if (!rig.lives[from] || !rig.lives[to] || farm.readout_of[from] == no_unit ||
                farm.builder_of[to] == no_unit)
                continue;
            const std::uint32_t sent = rig.members[from].station->readout()->n_numbered(farm.builder_of[to]);
            n += sent - rig.members[to].station->builder()->senders().arrivals(farm.readout_of[from]).newest();
        }
    return n;
}

/// The packets that each life of a builder built, by its sink, and what the manager says of it; the builder itself
/// reports the rest if it was taken for dead and lives. Nothing is left over.
struct Account {
    std::uint64_t n_complete = 0, n_incomplete = 0, n_lost = 0;
};
Account account_of(const FarmRig& rig) {
    const EventManager& manager = *rig.members[0].station->manager();
    const std::set<std::uint64_t> untold(manager.lost_meps().begin(), manager.lost_meps().end());
    Account account{.n_lost = untold.size()};
    for (const auto* all : {&rig.members, &rig.graveyard})
        for (const auto& member : *all) {
            if (!member.sink) continue;
            std::set<std::uint64_t> last;
            for (const auto& one : member.station->builder()->output().handed_on())
                if (one.is_known) last.insert(one.mep);
            for (const auto& [mep, n_missing] : member.sink->missing_of) {
                RC_ASSERT(!untold.contains(mep) || last.contains(mep));  // its last words name it
                ++(n_missing == 0 ? account.n_complete : account.n_incomplete);
                account.n_lost -= untold.contains(mep);
            }
        }
    return account;
}

void check_account(FarmRig& rig) {
    rig.settle();
    const Account account = account_of(rig);
    RC_ASSERT(account.n_complete + account.n_incomplete + account.n_lost == rig.count(0, "manager", "meps_assigned"));
    RC_ASSERT(account.n_complete >= rig.count(0, "manager", "meps_complete"));
    RC_ASSERT(account.n_incomplete >= rig.count(0, "manager", "meps_incomplete"));
    for (const auto& member : rig.members)
        if (member.sink) RC_ASSERT(member.sink->n_false == 0U && member.sink->n_changed == 0U);
}

TEST(FarmProperty, WithoutFaultsAllIsBuilt) {
    const auto property = [] {
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
        Dice dice(seed);
        RigConfig config = random_config(dice);
        config.when_full = WhenFull::wait;
        config.timeout_ns = 1'000'000'000'000;  // nothing is to be late because the dice leave somebody out for long
        FarmRig rig(config, seed);
        RC_ASSERT(rig.run());
        check_outcomes(rig);
        check_readouts(rig);
        RC_ASSERT(rig.count(0, "manager", "meps_complete") == config.n_meps);
        RC_ASSERT(rig.sum("readout", {"mfps_sent"}) == came(rig));
        RC_ASSERT(came(rig) == rig.sum("builder", {"mfps_received"}));
        RC_ASSERT(rig.sum("builder", {"events_built"}) == config.n_meps * config.packing);
    };
    EXPECT_TRUE(rc::check("without faults all is built", property));
}

TEST(FarmProperty, WithoutRoomWhatIsDroppedIsToldAndCounted) {
    const auto property = [] {
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
        Dice dice(seed);
        RigConfig config = random_config(dice);
        config.when_full = WhenFull::drop;
        config.rate_hz = 20'000;
        FarmRig rig(config, seed);
        RC_ASSERT(rig.run());
        check_outcomes(rig);
        check_readouts(rig);
        check_parts(rig, config);
    };
    EXPECT_TRUE(rc::check("what is dropped is reported and counted", property));
}

TEST(FarmProperty, OnATransportThatLosesEachPacketHasOneOutcome) {
    const auto property = [] {
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
        Dice dice(seed);
        RigConfig config = random_config(dice);
        config.reliable = false;
        FarmRig rig(config, seed);
        rig.network.one_in_lost = 2 + dice.below(30);
        rig.network.one_in_doubled = 2 + dice.below(10);
        RC_ASSERT(rig.run());
        check_outcomes(rig);
        check_readouts(rig);
        check_parts(rig, config);
        RC_ASSERT(rig.count(0, "manager", "meps_complete") + rig.count(0, "manager", "meps_incomplete") ==
                  config.n_meps);
        rig.settle();
        RC_ASSERT(rig.sum("readout", {"mfps_sent"}) == came(rig) + n_after_the_last(rig));
    };
    EXPECT_TRUE(rc::check("on a transport that loses", property));
}

TEST(FarmProperty, WithTooLittleTimeWhatIsLateFindsNoPlace) {
    const auto property = [] {
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
        Dice dice(seed);
        RigConfig config = random_config(dice);
        config.timeout_ns = 1 + dice.below(8'000'000);  // up to 80 steps, which few packets manage
        config.reliable = dice.one_in(2);
        FarmRig rig(config, seed);
        rig.network.one_in_lost = 20;
        rig.network.one_in_doubled = 4;
        RC_ASSERT(rig.run());
        check_outcomes(rig);
        check_readouts(rig);
        check_parts(rig, config);
        if (rig.network.reliable) RC_ASSERT(rig.sum("readout", {"mfps_sent"}) == came(rig));
    };
    EXPECT_TRUE(rc::check("what is late finds no place", property));
}

/// Nobody is taken for dead who came again.
void check_connections(const FarmRig& rig) {
    for (Peer node = 0; node < rig.members.size(); ++node)
        for (Peer other = 0; other < rig.members.size(); ++other)
            if (rig.lives[node] && rig.lives[other])
                RC_ASSERT(rig.members[node].station->seen(other) != NodeState::declared_gone);
}

void nodes_die_and_come_again(std::uint32_t seed) {
    Dice dice(seed);
    RigConfig config = random_config(dice);
    config.n_nodes += 1;
    config.roles = {"all"};
    config.n_meps = 30 + dice.below(60);
    config.waits_for_data = dice.one_in(2);
    FarmRig rig(config, seed);
    rig.step(20 + dice.below(1500));
    for (std::uint32_t n_deaths = 1 + dice.below(3); n_deaths > 0; --n_deaths) {
        const auto victim = static_cast<Peer>(1 + dice.below(static_cast<std::uint32_t>(config.n_nodes) - 1));
        if (!rig.lives[victim] || rig.members[victim].station->finished()) continue;
        rig.kill(victim);
        rig.step(dice.below(400));
        if (dice.one_in(2)) rig.restart(victim);
        rig.step(dice.below(800));
    }
    RC_ASSERT(rig.run());
    check_outcomes(rig);
    check_readouts(rig);
    RC_ASSERT(rig.sum("readout", {"mfps_sent"}) - rig.sum("readout", {"sent_to_dead_builder"}) == came(rig));
    RC_ASSERT(rig.count(0, "manager", "meps_assigned") == config.n_meps);
    check_connections(rig);
}

TEST(FarmProperty, NodesDieAndComeAgain) {
    const auto property = [] { nodes_die_and_come_again(*rc::gen::arbitrary<std::uint32_t>()); };
    EXPECT_TRUE(rc::check("nodes die and come again", property));
}

/// A readout unit comes again and sends before a builder has heard of its former death (the first two), or has heard
/// that it came the first time: what it sent stays counted, and its new connection stays.
TEST(FarmProperty, ANodeComesAgainFasterThanTheNewsOfItsDeath) {
    for (const std::uint32_t seed : {695090609U, 12995U, 3867671099U, 176219087U, 99324145U, 319U, 1324U, 2327U})
        EXPECT_NO_THROW(nodes_die_and_come_again(seed)) << seed;
}

/// Any script of kills, stops, goes-on and comings again; the manager lives. Every packet that was assigned is in one
/// builder's books, or lost with one that is dead, and none that lacks a source is counted complete.
TEST(FarmProperty, WhateverHappensToNodesTheAccountCloses) {
    const auto property = [] {
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
        Dice dice(seed);
        RigConfig config = random_config(dice);
        config.n_nodes += 2;
        config.roles = {"all"};
        config.n_buffers += 2;  // shift has a round for each builder
        config.n_meps = 100 + dice.below(100);
        config.rate_hz = 5000;
        config.step_ns = 200'000;
        config.waits_for_data = dice.one_in(2);
        config.reliable = dice.one_in(2);
        FarmRig rig(config, seed);
        if (!config.reliable) rig.network.one_in_lost = 30;
        rig.step(dice.below(2000));
        std::vector<bool> is_stalled(config.n_nodes), is_dead(config.n_nodes);
        for (std::uint32_t n_things = 1 + dice.below(6); n_things > 0; --n_things) {
            const auto node = static_cast<Peer>(1 + dice.below(static_cast<std::uint32_t>(config.n_nodes) - 1));
            if (is_dead[node] && dice.one_in(2)) {
                rig.restart(node);
                is_dead[node] = false;
            } else if (is_stalled[node]) {
                rig.go_on(node);
                is_stalled[node] = false;
            } else if (!is_dead[node] && dice.one_in(2)) {
                rig.kill(node);
                is_dead[node] = true;
            } else if (!is_dead[node]) {
                rig.stall(node);
                is_stalled[node] = true;
            }
            rig.step(dice.below(dice.one_in(2) ? 500 : 12'000));
        }
        for (Peer node = 1; node < config.n_nodes; ++node)
            if (is_stalled[node]) rig.go_on(node);
        RC_ASSERT(rig.run());
        check_readouts(rig);
        check_account(rig);
    };
    EXPECT_TRUE(rc::check("the account closes", property));
}

}  // namespace
}  // namespace anello::exchange::test

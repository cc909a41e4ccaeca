// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

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
                                 "mfps_before_start", "mfps_left_at_end"})
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
                               "mfps_unexpected"}) -
           rig.sum("builder", {"taken_from_dead_readout"});
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
    EXPECT_TRUE(rc::check("what is dropped is told and counted", property));
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

TEST(FarmProperty, NodesDieAndComeAgain) {
    const auto property = [] {
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
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
    };
    EXPECT_TRUE(rc::check("nodes die and come again", property));
}

}  // namespace
}  // namespace anello::exchange::test

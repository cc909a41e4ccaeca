// SPDX-License-Identifier: Apache-2.0
// How a node's thread spends its time when there is nothing to do.
#include <gtest/gtest.h>

#include "unit/exchange/farm_rig.hpp"

namespace anello::exchange::test::waiting_test {
namespace {

constexpr std::uint32_t seed = 21;
constexpr std::initializer_list<const char*> causes{"waited_for_sink_ns", "waited_for_transport_ns",
                                                    "waited_for_credit_ns", "waited_for_parts_ns",
                                                    "waited_for_data_ns"};

std::uint64_t waited_ns(const FarmRig& rig, Peer node) {
    std::uint64_t total_ns = 0;
    for (const char* cause : causes) total_ns += rig.count(node, "station", cause);
    return total_ns;
}

/// One source gives nothing: the other node's builder waits for its parts, nearly all of the time.
TEST(Waiting, ForPartsOfASourceThatGivesNothing) {
    FarmRig rig({.n_nodes = 2, .n_meps = 6}, seed);
    rig.members[1].generator.reset();
    const Nanoseconds begun_ns = rig.clock.monotonic_ns();
    ASSERT_TRUE(rig.run());
    const auto elapsed_ns = static_cast<std::uint64_t>(rig.clock.monotonic_ns() - begun_ns);
    EXPECT_GT(rig.count(0, "station", "waited_for_parts_ns"), elapsed_ns / 2);
    for (const Peer node : {Peer{0}, Peer{1}}) EXPECT_LE(waited_ns(rig, node), elapsed_ns);
}

TEST(Waiting, ForDataWhereAReadoutUnitHasNone) {
    FarmRig rig({.roles = {"em+ru", "bu"}, .n_nodes = 2, .n_meps = 0}, seed);
    rig.members[0].generator.reset();
    rig.step(2000);
    EXPECT_GT(rig.count(0, "station", "waited_for_data_ns"), 100'000'000U);  // of 200 ms
    EXPECT_EQ(rig.count(0, "station", "waited_for_data_ns"), waited_ns(rig, 0));
}

/// A builder that stands still offers nothing: its readout units hold MFPs that no builder is to have.
TEST(Waiting, ForACreditWhereTheBuilderStandsStill) {
    FarmRig rig({.roles = {"em+ru", "bu"}, .n_nodes = 2, .n_meps = 0}, seed);
    rig.step(200);
    rig.stall(1);
    rig.step(1000);
    EXPECT_GT(rig.count(0, "station", "waited_for_credit_ns"), 50'000'000U);  // of 100 ms
}

TEST(Waiting, ForNothingBeforeTheRunBegins) {
    FarmRig rig({.n_nodes = 2, .n_meps = 0}, seed);
    rig.stall(1);
    rig.step(2000);
    EXPECT_EQ(waited_ns(rig, 0), 0U);
}

}  // namespace
}  // namespace anello::exchange::test::waiting_test

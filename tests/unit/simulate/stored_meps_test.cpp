// SPDX-License-Identifier: Apache-2.0
// The files of farms in virtual time, whatever their disks do.
#include "simulate/world/stored_meps.hpp"

#include <gtest/gtest.h>

#include "simulate/farm/farm_oracle.hpp"
#include "simulate/farm/simulated_farm.hpp"

namespace anello::simulate::stored_meps_test {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr std::uint32_t run_id = 0;  // as farms in virtual time have it

FarmScenario storing_farm() {
    FarmScenario scenario;
    scenario.n_nodes = scenario.network.n_nodes = 3;
    scenario.n_meps = 60;
    scenario.rate_hz = 1'000;
    scenario.waits_for_data = true;
    scenario.stores = true;
    return scenario;
}

std::string findings_of(const SimulatedFarm& farm) {
    std::string all;
    for (const std::string& one : judge(farm)) all += one + "\n";
    return all;
}

StoredMeps stored_by(const SimulatedFarm& farm, Node node, unsigned life = 0) {
    return read_meps(farm.hosts()[node]->disk(), FarmProcess::file_name(life), farm.scenario().n_nodes,
                     farm.scenario().packing, run_id);
}

std::uint64_t n_lost(const SimulatedFarm& farm, Node node) {
    return (*farm.hosts()[node]->process().file_counters())[store::MepStoreCounter::meps_lost];
}

TEST(StoredMeps, AreWhatWasBuilt) {
    for (const std::uint64_t max_file_bytes : {0, 2'000}) {
        FarmScenario scenario = storing_farm();
        scenario.max_file_bytes = max_file_bytes;
        SimulatedFarm farm(scenario);
        farm.run();
        EXPECT_EQ(findings_of(farm), "");
        std::size_t n_stored = 0;
        for (Node node = 0; node < 3; ++node) n_stored += stored_by(farm, node).all.size();
        EXPECT_EQ(n_stored, 60U);
        EXPECT_EQ(farm.hosts()[0]->disk().names().size() > 1, max_file_bytes > 0);
    }
}

TEST(StoredMeps, AFullDiskLosesWholeOnesAndTheFarmGoesOn) {
    FarmScenario scenario = storing_farm();
    scenario.faults = {{.kind = FaultKind::disk_full, .node = 1, .at_ns = 80 * ms, .lasts_ns = 60 * ms, .factor = 700}};
    SimulatedFarm farm(scenario);
    farm.run();
    EXPECT_EQ(findings_of(farm), "");
    EXPECT_GT(n_lost(farm, 1), 0U);
    EXPECT_EQ(n_lost(farm, 0) + n_lost(farm, 2), 0U);
    EXPECT_EQ(stored_by(farm, 1).all.back().mep, farm.hosts()[1]->process().sink()->built().back().mep)
        << "it continues when there is room";
}

/// Slots are held meanwhile: the farm waits, and loses nothing.
TEST(StoredMeps, ASlowDiskLosesNothing) {
    FarmScenario scenario = storing_farm();
    scenario.n_credits = 1;
    scenario.faults = {
        {.kind = FaultKind::disk_slow, .node = 1, .at_ns = 80 * ms, .lasts_ns = 300 * ms, .factor = 5'000}};
    SimulatedFarm farm(scenario);
    farm.run();
    EXPECT_EQ(findings_of(farm), "");
    for (Node node = 0; node < 3; ++node) EXPECT_EQ(n_lost(farm, node), 0U);
    EXPECT_LT(stored_by(farm, 1).all.size(), stored_by(farm, 0).all.size()) << "who is slow gets less";
}

TEST(StoredMeps, AProcessThatDiesInAWriteLeavesTheLastOneCutShort) {
    bool was_cut = false;
    for (std::uint64_t step = 150; step < 450; ++step) {
        FarmScenario scenario = storing_farm();
        scenario.faults = {
            {.kind = FaultKind::disk_slow, .node = 1, .at_ns = 1 * ms, .lasts_ns = 10'000 * ms, .factor = 100},
            {.kind = FaultKind::crash, .node = 1, .at_step = step, .lasts_ns = 20 * ms}};
        SimulatedFarm farm(scenario);
        farm.run();
        ASSERT_EQ(findings_of(farm), "") << step;
        was_cut |= stored_by(farm, 1).is_cut;
    }
    EXPECT_TRUE(was_cut);
}

/// A reader must see what is wrong with a file, or the tests above prove nothing.
TEST(StoredMeps, WhatIsWrongInAFileIsSeen) {
    SimulatedFarm farm(storing_farm());
    farm.run();
    const std::vector<std::byte> good = farm.hosts()[0]->disk().content(FarmProcess::file_name(0));
    const auto read = [&](std::size_t at, std::size_t n_bytes) {
        World world;
        SimulatedDisk disk({}, world);
        std::vector<std::byte> bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n_bytes));
        if (at < bytes.size()) bytes[at] ^= std::byte{1};
        store::write_all_at(*disk.create("events.raw"), 0, bytes);
        return read_meps(disk, "events.raw", 3, farm.scenario().packing, run_id);
    };
    const StoredMeps whole = read(good.size(), good.size());
    ASSERT_EQ(whole.wrong, "");
    ASSERT_FALSE(whole.is_cut);
    for (std::size_t at = 0; at < 20; ++at) EXPECT_NE(read(at, good.size()).wrong, "") << at;
    for (std::size_t at = 32; at < 32 + 48; ++at) EXPECT_NE(read(at, good.size()).wrong, "") << at;
    EXPECT_TRUE(read(good.size(), good.size() - 1).is_cut);
    EXPECT_TRUE(read(good.size(), 10).is_cut);
    const StoredMeps changed = read(32 + 48 + 16 + 40, good.size());  // within the first MFP
    EXPECT_NE(changed.all.front().checksum, whole.all.front().checksum);
}

}  // namespace
}  // namespace anello::simulate::stored_meps_test

// SPDX-License-Identifier: Apache-2.0
#include "conformance/store/disk_conformance.hpp"

#include <algorithm>

#include "simulate/world/simulated_disk.hpp"

namespace anello::store::test {
namespace {

using simulate::DiskConfig;
using simulate::SimulatedDisk;
using simulate::World;

class InVirtualTime : public DiskUnderTest {
  public:
    explicit InVirtualTime(double short_share = 0) : disk_({.short_share = short_share}, world_) {}

    Disk& disk() override { return disk_; }
    std::string path(const std::string& name) const override { return name; }
    std::string content(const std::string& name) const override {
        const std::vector<std::byte> bytes = disk_.content(name);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    bool exists(const std::string& name) const override {
        const std::vector<std::string> names = disk_.names();
        return std::ranges::find(names, name) != names.end();
    }

  private:
    World world_;
    SimulatedDisk disk_;
};

/// A disk that takes only a part of most writes.
class OftenShort final : public InVirtualTime {
  public:
    OftenShort() : InVirtualTime(0.9) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, DiskConformance, InVirtualTime);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedShort, DiskConformance, OftenShort);

constexpr Nanoseconds call_ns = 1'000;

struct Rig {
    World world;
    Nanoseconds until_ns = 0;
    SimulatedDisk disk{{.gbps = 8, .call_ns = call_ns}, world, [this](Nanoseconds end_ns) { until_ns = end_ns; }};
    std::unique_ptr<OpenFile> file = disk.create("records.raw");
    std::string text() const {
        const std::vector<std::byte> bytes = disk.content("records.raw");
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
};

TEST(SimulatedDisk, AFullOneTakesWhatFindsRoomAndThenNothing) {
    Rig rig;
    rig.disk.have_room_for(7);
    EXPECT_FALSE(append(*rig.file, "0123456789"));
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_EQ(rig.text(), "0123456");
    EXPECT_FALSE(rig.file->reserve(7, 1));
    ASSERT_TRUE(rig.file->cut(0)) << "which gives room back";
    EXPECT_TRUE(append(*rig.file, "again"));
    EXPECT_TRUE(write_all_at(*rig.file, 0, bytes_of("AGAIN"))) << "which needs none";
    EXPECT_EQ(rig.text(), "AGAIN");
}

TEST(SimulatedDisk, WritesTakeTheirTimeOneAfterTheOther) {
    Rig rig;
    ASSERT_TRUE(append(*rig.file, std::string(1'000, 'a')));
    EXPECT_EQ(rig.until_ns - World::begin_ns, call_ns + 1'000);
    rig.disk.be_slower(10);
    ASSERT_TRUE(append(*rig.file, "b"));
    EXPECT_EQ(rig.until_ns - World::begin_ns, (call_ns + 1'000) + 10 * (call_ns + 1))
        << "the second waits for the first";
}

TEST(SimulatedDisk, OfAWriteThatIsUnderWayWhenItsProcessDiesAPartIsThere) {
    Rig rig;
    ASSERT_TRUE(append(*rig.file, "whole "));
    rig.world.run_until(rig.world.monotonic_ns() + 1'000'000);
    ASSERT_TRUE(append(*rig.file, std::string(100'000, 'x')));
    rig.world.run_until(rig.world.monotonic_ns() + 50'000);
    rig.disk.lose_process();
    const std::string left = rig.text();
    EXPECT_GT(left.size(), 45'000U);
    EXPECT_LT(left.size(), 55'000U);
    EXPECT_EQ(left.substr(0, 7), "whole x");
    EXPECT_FALSE(append(*rig.file, "nothing of a dead process"));
    EXPECT_FALSE(rig.file->cut(0));
    EXPECT_EQ(rig.text(), left);
    const auto next = rig.disk.create("next.raw");
    EXPECT_TRUE(append(*next, "of the next process"));
}

TEST(SimulatedDisk, WhatWasNotOnTheMediumIsGoneWithThePower) {
    Rig rig;
    std::string all;
    for (int i = 0; i < 1'000; ++i) all += std::to_string(i) + ' ';
    ASSERT_TRUE(append(*rig.file, all));
    rig.world.run_until(rig.world.monotonic_ns() + 1'000'000);
    rig.disk.lose_power();
    EXPECT_LT(rig.text().size(), all.size());
    EXPECT_EQ(all.substr(0, rig.text().size()), rig.text());
}

}  // namespace
}  // namespace anello::store::test

// SPDX-License-Identifier: Apache-2.0
#include "exchange/mfp_packer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/errors.hpp"

namespace anello::exchange::mfp_packer_test {
namespace {

constexpr std::size_t largest = 100;

struct Rig {
    PackCounter pack(std::uint64_t event) {
        return packer.pack(event, 4, [&](std::span<std::byte> to) { to[0] = static_cast<std::byte>(event); });
    }
    /// Sizes of the fragments of the next MFP; none: there is none.
    std::vector<std::size_t> take(std::uint64_t mep) {
        FullMfp full;
        if (!ring.try_take(full)) return {};
        EXPECT_EQ(full.mep, mep);
        wire::mfp::PacketView view;
        EXPECT_EQ(wire::mfp::parse(ring.bytes(full.buffer).first(full.length_bytes), view), wire::Verdict::ok);
        EXPECT_EQ(view.header.first_event, mep * config.packing);
        std::vector<std::size_t> sizes;
        for (std::size_t i = 0; i < view.header.n_fragments; ++i) sizes.push_back(view.size_of(i));
        ring.give_back(full.buffer);
        return sizes;
    }

    ManualClock clock{1'000'000'000};
    MfpPackerConfig config{.source_id = 3, .run_id = 5, .packing = 4};
    MfpRing ring{{.n_buffers = 2, .buffer_bytes = config.max_mfp_bytes(largest)}};
    CounterPage page;
    Counters<PackCounter> counters = page.add_block<PackCounter>("pack");
    MfpPacker packer{config, largest, ring, clock, counters};
};
using Sizes = std::vector<std::size_t>;

TEST(MfpPacker, WaitsUntilItKnowsWhereTheReadoutUnitBegins) {
    Rig rig;
    EXPECT_EQ(rig.pack(8), PackCounter::waits_for_room);
    rig.ring.begin_at(2);
    EXPECT_EQ(rig.pack(7), PackCounter::parts_before_start);
    EXPECT_EQ(rig.ring.passed(), 2U);
    EXPECT_EQ(rig.pack(8), PackCounter::parts_packed);
    EXPECT_EQ(rig.pack(8), PackCounter::parts_before_start) << "each event once";
}

TEST(MfpPacker, EventsThatAreLeftOutAreEmptyAndPacketsThatAreDoNotExist) {
    Rig rig;
    rig.ring.begin_at(0);
    for (const std::uint64_t event : {1, 3, 12}) EXPECT_EQ(rig.pack(event), PackCounter::parts_packed);
    EXPECT_EQ(rig.take(0), (Sizes{0, 4, 0, 4}));
    EXPECT_EQ(rig.take(3), Sizes{}) << "it is open";
    rig.packer.close();
    EXPECT_EQ(rig.take(3), (Sizes{4, 0, 0, 0}));
    EXPECT_EQ(rig.counters[PackCounter::mfps], 2U);
}

TEST(MfpPacker, WithoutABufferTheEventIsAskedForAgain) {
    Rig rig;
    rig.ring.begin_at(0);
    for (const std::uint64_t event : {0, 4}) EXPECT_EQ(rig.pack(event), PackCounter::parts_packed);
    EXPECT_EQ(rig.pack(8), PackCounter::waits_for_room);
    EXPECT_EQ(rig.take(0), (Sizes{4, 0, 0, 0}));
    EXPECT_EQ(rig.pack(8), PackCounter::parts_packed);
}

TEST(MfpPacker, TheEndIsPassedOnceWhenNothingBeforeItIsToCome) {
    Rig rig;
    rig.ring.begin_at(0);
    EXPECT_EQ(rig.pack(0), PackCounter::parts_packed);
    EXPECT_FALSE(rig.packer.try_pass_end(true)) << "nobody knows the end";
    rig.ring.end_at(1);
    EXPECT_FALSE(rig.packer.try_pass_end(false));
    EXPECT_EQ(rig.pack(5), PackCounter::parts_after_end);
    EXPECT_TRUE(rig.packer.try_pass_end(false));
    EXPECT_FALSE(rig.packer.try_pass_end(false));
    EXPECT_EQ(rig.ring.passed(), 1U);
    EXPECT_EQ(rig.take(0), (Sizes{4, 0, 0, 0}));
}

TEST(MfpPacker, EachPartHasOneOutcomeAndOneThatWaitsHasNoneYet) {
    Rig rig;
    EXPECT_EQ(rig.pack(0), PackCounter::waits_for_room);
    rig.ring.begin_at(1);
    rig.ring.end_at(2);
    for (const std::uint64_t event : {3, 4, 7, 8}) rig.pack(event);
    rig.packer.discard();
    EXPECT_EQ(rig.pack(9), PackCounter::parts_left);
    using enum PackCounter;
    for (const PackCounter once : {parts_before_start, parts_after_end, parts_left, waits_for_room, mfps})
        EXPECT_EQ(rig.counters[once], 1U) << counter_labels<PackCounter>[static_cast<std::size_t>(once)].name;
    EXPECT_EQ(rig.counters[parts_packed], 2U);
    EXPECT_EQ(rig.counters[parts_in], 5U);
    FullMfp full;
    ASSERT_TRUE(rig.ring.try_take(full));
    EXPECT_EQ(rig.counters[bytes], full.length_bytes);
}

TEST(MfpPacker, WhereNobodyTakesPacketsPartsAreLeftAlsoBeforeTheBegin) {
    Rig rig;
    EXPECT_FALSE(rig.packer.try_begin());
    rig.packer.discard();
    EXPECT_TRUE(rig.packer.try_begin());
    EXPECT_EQ(rig.pack(0), PackCounter::parts_left);
}

TEST(MfpPacker, RefusesWhatNoBufferHolds) {
    Rig rig;
    EXPECT_THROW(MfpPacker(rig.config, largest + 64, rig.ring, rig.clock, rig.counters), ConfigError);
    EXPECT_THROW(MfpPacker({.packing = 0}, largest, rig.ring, rig.clock, rig.counters), ConfigError);
}

}  // namespace
}  // namespace anello::exchange::mfp_packer_test

// SPDX-License-Identifier: Apache-2.0
#include "exchange/mfp_packer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/errors.hpp"

namespace anello::exchange::mfp_packer_test {
namespace {

using Place = MfpPacker::Place;
constexpr std::size_t largest = 100;

struct Rig {
    Place pack(std::uint64_t event) {
        const Place place = packer.try_open(event);
        if (place == Place::ready) {
            packer.add(4)[0] = static_cast<std::byte>(event);
            packer.end_fragment();
        }
        return place;
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
    MfpPacker packer{config, largest, ring, clock};
};
using Sizes = std::vector<std::size_t>;

TEST(MfpPacker, WaitsUntilItKnowsWhereTheReadoutUnitBegins) {
    Rig rig;
    EXPECT_EQ(rig.pack(8), Place::no_room);
    rig.ring.begin_at(2);
    EXPECT_EQ(rig.pack(7), Place::before_start);
    EXPECT_EQ(rig.ring.passed(), 2U);
    EXPECT_EQ(rig.pack(8), Place::ready);
    EXPECT_EQ(rig.pack(8), Place::before_start) << "each event once";
}

TEST(MfpPacker, EventsThatAreLeftOutAreEmptyAndPacketsThatAreDoNotExist) {
    Rig rig;
    rig.ring.begin_at(0);
    for (const std::uint64_t event : {1, 3, 12}) EXPECT_EQ(rig.pack(event), Place::ready);
    EXPECT_EQ(rig.take(0), (Sizes{0, 4, 0, 4}));
    EXPECT_EQ(rig.take(3), Sizes{}) << "it is open";
    rig.packer.close();
    EXPECT_EQ(rig.take(3), (Sizes{4, 0, 0, 0}));
    EXPECT_EQ(rig.packer.n_mfps(), 2U);
}

TEST(MfpPacker, WithoutABufferTheEventIsAskedForAgain) {
    Rig rig;
    rig.ring.begin_at(0);
    for (const std::uint64_t event : {0, 4}) EXPECT_EQ(rig.pack(event), Place::ready);
    EXPECT_EQ(rig.pack(8), Place::no_room);
    EXPECT_EQ(rig.take(0), (Sizes{4, 0, 0, 0}));
    EXPECT_EQ(rig.pack(8), Place::ready);
}

TEST(MfpPacker, TheEndIsPassedOnceWhenNothingBeforeItIsToCome) {
    Rig rig;
    rig.ring.begin_at(0);
    EXPECT_EQ(rig.pack(0), Place::ready);
    EXPECT_FALSE(rig.packer.try_pass_end(true)) << "nobody knows the end";
    rig.ring.end_at(1);
    EXPECT_FALSE(rig.packer.try_pass_end(false));
    EXPECT_EQ(rig.pack(5), Place::after_end);
    EXPECT_TRUE(rig.packer.try_pass_end(false));
    EXPECT_FALSE(rig.packer.try_pass_end(false));
    EXPECT_EQ(rig.ring.passed(), 1U);
    EXPECT_EQ(rig.take(0), (Sizes{4, 0, 0, 0}));
}

TEST(MfpPacker, RefusesWhatNoBufferHolds) {
    Rig rig;
    EXPECT_THROW(MfpPacker(rig.config, largest + 64, rig.ring, rig.clock), ConfigError);
    EXPECT_THROW(MfpPacker({.packing = 0}, largest, rig.ring, rig.clock), ConfigError);
}

}  // namespace
}  // namespace anello::exchange::mfp_packer_test

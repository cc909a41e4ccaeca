// SPDX-License-Identifier: Apache-2.0
#include "exchange/mep_reader.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace anello::exchange::mep_reader_test {
namespace {

constexpr std::uint32_t packing = 3;
using Sizes = std::array<std::uint32_t, packing>;

/// A readout unit's MFP with fragments of these sizes, each byte the number of its event.
std::vector<std::byte> mfp_of(const Sizes& sizes) {
    std::vector<std::byte> packet(wire::mfp::max_packet_bytes(packing, 8, 3));
    wire::mfp::Writer writer(packet, {.n_fragments = packing});
    for (std::uint32_t i = 0; i < packing; ++i)
        for (std::byte& byte : writer.add(sizes[i])) byte = static_cast<std::byte>(i);
    packet.resize(writer.finish());
    return packet;
}

struct Rig {
    void open(std::uint64_t first_event = 30) {
        for (std::size_t i = 0; i < 3; ++i) mfps[i] = packets[i];
        reader.open({.first_event = first_event, .n_events = packing, .mfps = mfps});
    }
    /// The readout units that the next event has a part of; each is counted as `outcome`.
    std::vector<std::uint32_t> read(UnpackCounter outcome) {
        std::vector<std::uint32_t> from;
        const std::uint64_t place = reader.next_event() - reader.mep().first_event;
        const bool has_any = reader.read([&](std::uint32_t readout, std::span<const std::byte> part) {
            EXPECT_EQ(part.front(), static_cast<std::byte>(place));
            from.push_back(readout);
            return outcome;
        });
        EXPECT_EQ(has_any, outcome == UnpackCounter::parts_joined && !from.empty());
        return from;
    }

    CounterPage page;
    Counters<UnpackCounter> counters = page.add_block<UnpackCounter>("unpack");
    MepReader reader{3, counters};
    std::array<std::vector<std::byte>, 3> packets{mfp_of({4, 0, 0}), {}, mfp_of({8, 0, 1})};
    std::array<std::span<const std::byte>, 3> mfps;
};
using From = std::vector<std::uint32_t>;

TEST(MepReader, GivesEachEventThePartsOfAllReadoutUnitsThatHaveSome) {
    Rig rig;
    EXPECT_TRUE(rig.reader.is_at_end()) << "nothing is open";
    rig.open();
    EXPECT_EQ(rig.reader.next_event(), 30U);
    EXPECT_EQ(rig.read(UnpackCounter::parts_joined), (From{0, 2}));
    EXPECT_EQ(rig.read(UnpackCounter::parts_joined), From{});
    EXPECT_FALSE(rig.reader.is_at_end());
    EXPECT_EQ(rig.reader.next_event(), 32U);
    EXPECT_EQ(rig.read(UnpackCounter::parts_joined), From{2});
    EXPECT_TRUE(rig.reader.is_at_end());
}

TEST(MepReader, EachPartHasOneOutcome) {
    Rig rig;
    rig.open();
    rig.read(UnpackCounter::parts_of_other);
    rig.read(UnpackCounter::parts_joined);
    rig.read(UnpackCounter::parts_malformed);
    using enum UnpackCounter;
    for (const auto& [counter, n] : std::initializer_list<std::pair<UnpackCounter, std::uint64_t>>{
             {meps, 1}, {places, packing}, {parts_in, 3}, {parts_of_other, 2}, {parts_malformed, 1}, {parts_joined, 0}})
        EXPECT_EQ(rig.counters[counter], n) << counter_labels<UnpackCounter>[static_cast<std::size_t>(counter)].name;
}

/// The packet before is forgotten: what a readout unit gave of it is not given again.
TEST(MepReader, TheNextPacketBeginsAnew) {
    Rig rig;
    rig.open();
    rig.read(UnpackCounter::parts_joined);
    rig.packets = {};
    rig.open(60);
    EXPECT_EQ(rig.reader.next_event(), 60U);
    for (std::uint32_t i = 0; i < packing; ++i) EXPECT_EQ(rig.read(UnpackCounter::parts_joined), From{});
}

}  // namespace
}  // namespace anello::exchange::mep_reader_test

// SPDX-License-Identifier: Apache-2.0
// From datagrams of all DOMs to decisions: one slice builder, or two readout units, which pack, and a builder unit,
// which unpacks. Both come to the same decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "core/errors.hpp"
#include "km3net/farm/packer.hpp"
#include "km3net/farm/unpacker.hpp"
#include "km3net/slices/slice_builder.hpp"
#include "km3net/source/simulation.hpp"
#include "km3net/trigger/decisions.hpp"

namespace anello::km3net::farm_test {
namespace {

using U = SliceUnpackCounter;
using P = exchange::UnpackCounter;
constexpr std::uint64_t first = 17'600'000'000;
constexpr std::uint32_t n_slices = 4, packing = 2, run = 7, seed = 3;
const LineConfig line{.n_doms = 5};
const SliceStoreConfig room{.n_slices = 12, .max_hits = 4000};

/// Bytes of one datagram, and the DOM that sent them.
struct Sent {
    std::uint32_t dom;
    std::vector<std::byte> bytes;
};

Sent datagram_of(std::uint32_t dom, std::uint64_t slice, std::uint32_t sequence, std::span<const clb::Hit> hits,
                 bool is_trailer) {
    static const std::vector<Dom> doms = make_line(line);
    const clb::Header header{.run_number = run,
                             .udp_sequence = sequence,
                             .utc_s = static_cast<std::uint32_t>(slice / slices_per_second),
                             .utc_16ns = static_cast<std::uint32_t>(slice % slices_per_second) * ticks_per_slice,
                             .dom_id = doms[dom].id,
                             .dom_status = 1U << 31,
                             .more_status = {is_trailer ? trailer_bit : 0, 0, 0}};
    Sent sent{dom, std::vector<std::byte>(clb::long_header_bytes + hits.size() * clb::hit_bytes)};
    clb::write(sent.bytes, header, hits, clb::long_header_bytes);
    return sent;
}

/// Datagrams of the boards in a simulated sea with near muons, 100 hits each; datagrams of a DOM overtake each other.
std::vector<Sent> sea() {
    const std::vector<Dom> doms = make_line(line);
    const Simulation simulation({.singles_hz = 700, .muon_hz = 100, .muon_radius_m = 5, .seed = seed}, doms);
    std::minstd_rand random(seed);
    std::vector<Sent> sent;
    for (std::uint32_t i = 0; i < n_slices; ++i) {
        const std::vector<SimulatedFrame> frames = simulation.slice(i);
        const auto begin = static_cast<std::ptrdiff_t>(sent.size());
        for (std::uint32_t dom = 0; dom < doms.size(); ++dom) {
            std::uint32_t sequence = 0;
            for (std::span<const clb::Hit> left = frames[dom].hits; !left.empty();) {
                const auto hits = left.first(std::min<std::size_t>(100, left.size()));
                sent.push_back(datagram_of(dom, first + i, sequence++, hits, false));
                left = left.subspan(hits.size());
            }
            sent.push_back(datagram_of(dom, first + i, sequence, {}, true));
        }
        std::shuffle(sent.begin() + begin, sent.end(), random);
    }
    return sent;
}

std::map<std::string, std::uint64_t> counted(const CounterPage& page, const std::string& block) {
    std::map<std::string, std::uint64_t> values;
    for (const auto& sample : page.read())
        if (sample.block == block) values[sample.name] = sample.value;
    return values;
}

/// The stage trigger, and what it found.
struct Behind {
    explicit Behind(SliceStore& slices) : decisions({}, doms, slices, clock, page), stages(decisions.stages()) {}
    std::map<std::string, std::uint64_t> found() {
        while (stages.front().do_work(0) > 0) {
        }
        EXPECT_TRUE(stages.front().is_drained());
        return counted(page, "trigger");
    }
    ManualClock clock{1'000'000'000};
    CounterPage page;
    std::vector<Dom> doms = make_line(line);
    Decisions decisions;
    std::vector<pipeline::Stage> stages;
};

std::map<std::string, std::uint64_t> decided_alone(const std::vector<Sent>& sent) {
    ManualClock clock{1'000'000'000};
    CounterPage page;
    const std::vector<Dom> doms = make_line(line);
    SliceBuilder builder({.run = run, .store = room}, doms, clock, page);
    Behind behind(builder.store());
    for (const Sent& one : sent) builder.place({.bytes = one.bytes});
    builder.finish();
    return behind.found();
}

/// A readout unit makes MFPs of datagrams.
struct Readout {
    Readout(std::uint32_t number, std::uint32_t n_readouts)
        : range(doms_of(number, n_readouts, line.n_doms)),
          doms(std::span(all).subspan(range.begin, range.end - range.begin)),
          builder({.run = run, .store = room, .first_dom = range.begin}, doms, clock, page),
          mfp{.source_id = static_cast<std::uint16_t>(number), .run_id = 1, .packing = packing},
          ring({.n_buffers = 8, .buffer_bytes = mfp.max_mfp_bytes(max_part_bytes(doms.size(), room.max_hits))}),
          packer({.mfp = mfp, .first_slice = first}, doms, builder.store(), ring, clock, page) {
        ring.begin_at(0);
        ring.end_at(n_slices / packing);
    }
    void read_out(const std::vector<Sent>& sent) {
        for (const Sent& one : sent)
            if (range.contains(one.dom)) builder.place({.bytes = one.bytes});
        builder.finish();
        packer.do_work();
    }
    std::vector<std::span<std::byte>> mfps() {
        std::vector<std::span<std::byte>> taken;
        for (exchange::FullMfp full; ring.try_take(full);)
            taken.push_back(ring.bytes(full.buffer).first(full.length_bytes));
        return taken;
    }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    const std::vector<Dom> all = make_line(line);
    DomRange range;
    std::span<const Dom> doms;
    SliceBuilder builder;
    exchange::MfpPackerConfig mfp;
    exchange::MfpRing ring;
    SlicePacker packer;
};

/// A builder unit that receives the MFPs of n readout units.
struct Builder {
    explicit Builder(std::uint32_t n_readouts, const SliceStoreConfig& store = room, std::uint32_t of_run = run)
        : slices(store, line.n_doms),
          unpacker({.n_readouts = n_readouts, .run = of_run, .first_slice = first}, doms, slices, clock, page),
          behind(slices) {}
    void hand_on(std::uint64_t mep, std::vector<std::span<const std::byte>> mfps) {
        held = std::move(mfps);
        ASSERT_TRUE(unpacker.try_take(
            {.mep = mep, .first_event = mep * packing, .n_events = packing, .slot = 5, .built_ns = 1, .mfps = held}));
    }
    bool gives_back() {
        std::uint32_t slot = 0;
        return unpacker.try_give_back(slot) && slot == 5;
    }
    std::uint64_t count(U counter) const { return unpacker.counters()[counter]; }
    std::uint64_t count(P counter) const { return exchange::base_of<P>(unpacker.counters())[counter]; }
    void expect_balance() const {
        EXPECT_EQ(count(P::parts_in), count(P::parts_joined) + count(P::parts_malformed) + count(P::parts_of_other));
        EXPECT_EQ(count(P::places), count(U::slices_out) + count(P::places_empty));
        EXPECT_EQ(count(U::slices_out), count(U::slices_complete) + count(U::slices_incomplete));
        EXPECT_EQ(count(U::slices_out) * line.n_doms,
                  count(U::frames_complete) + count(U::frames_incomplete) + count(U::frames_absent));
    }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    const std::vector<Dom> doms = make_line(line);
    SliceStore slices;
    SliceUnpacker unpacker;
    Behind behind;
    std::vector<std::span<const std::byte>> held;
};

/// Two readout units and a builder, to which the datagrams `sent` come.
struct Farm {
    explicit Farm(const std::vector<Sent>& sent) {
        first_unit.read_out(sent);
        second_unit.read_out(sent);
        of_first = first_unit.mfps();
        of_second = second_unit.mfps();
    }
    void build_all() {
        for (std::uint32_t mep = 0; mep < n_slices / packing; ++mep) {
            builder.hand_on(mep, {of_first.at(mep), of_second.at(mep)});
            EXPECT_TRUE(builder.gives_back());
        }
    }
    Readout first_unit{0, 2}, second_unit{1, 2};
    Builder builder{2};
    std::vector<std::span<std::byte>> of_first, of_second;
};

TEST(Km3netFarm, ItsDomsAreSpreadAsTheControlPlaneSpreadsThem) {
    for (const std::uint32_t n_doms : {1U, 5U, 18U, 2070U})
        for (std::uint32_t n = 1; n <= std::min(n_doms, 7U); ++n)
            for (std::uint32_t dom = 0; dom < n_doms; ++dom)
                for (std::uint32_t unit = 0; unit < n; ++unit)
                    EXPECT_EQ(doms_of(unit, n, n_doms).contains(dom), dom * n / n_doms == unit) << dom << ' ' << n;
}

TEST(Km3netFarm, DecidesAsANodeByItself) {
    const std::vector<Sent> sent = sea();
    Farm farm(sent);
    farm.build_all();
    auto found = farm.builder.behind.found(), alone = decided_alone(sent);
    EXPECT_EQ(found, alone);
    EXPECT_GT(alone["events"], 3U) << "seed " << seed;
    EXPECT_GT(alone["l2"], 100U);
    EXPECT_EQ(alone["frames_used"], n_slices * line.n_doms);
    EXPECT_EQ(farm.builder.count(U::slices_complete), n_slices);
    farm.builder.expect_balance();
}

TEST(Km3netFarm, WhatADatagramThatIsMissingMakesOfAFrameIsKnownBehindTheExchangeToo) {
    std::vector<Sent> sent = sea();
    std::erase_if(sent, [n = 0](const Sent& one) mutable { return ++n % 40 == 0 || one.bytes.size() == 40 + 37; });
    Farm farm(sent);
    farm.build_all();
    EXPECT_EQ(farm.builder.behind.found(), decided_alone(sent));
    EXPECT_GT(farm.builder.count(U::frames_incomplete), 0U);
    EXPECT_GT(farm.builder.count(U::slices_incomplete), 0U);
    farm.builder.expect_balance();
}

TEST(Km3netFarm, AReadoutUnitThatIsGoneLeavesSlicesIncomplete) {
    Farm farm(sea());
    farm.builder.hand_on(0, {farm.of_first.at(0), {}});
    EXPECT_FALSE(farm.builder.unpacker.try_take({})) << "the first is still here";
    EXPECT_TRUE(farm.builder.gives_back());
    EXPECT_EQ(farm.builder.count(U::slices_out), packing);
    EXPECT_EQ(farm.builder.count(U::slices_complete), 0U);
    EXPECT_EQ(farm.builder.count(U::slices_incomplete), packing);
    EXPECT_EQ(farm.builder.count(U::frames_absent), 2 * packing);
    farm.builder.expect_balance();
}

TEST(Km3netFarm, SlicesThatNobodyHasAreNone) {
    Builder builder(2);
    builder.hand_on(0, {{}, {}});
    EXPECT_TRUE(builder.gives_back());
    EXPECT_EQ(builder.count(P::places_empty), packing);
    EXPECT_EQ(builder.count(U::slices_out), 0U);
}

TEST(Km3netFarm, APacketWaitsWhereTheTriggerIsSlow) {
    Farm farm(sea());
    Builder builder(2, {.n_slices = 2, .max_hits = room.max_hits});
    std::uint32_t of_other = 0;
    ASSERT_TRUE(builder.slices.buffers().try_take_free(of_other));
    builder.hand_on(0, {farm.of_first.at(0), farm.of_second.at(0)});
    EXPECT_FALSE(builder.gives_back());
    EXPECT_EQ(builder.count(U::slices_out), 1U);
    EXPECT_FALSE(builder.unpacker.try_take({.mfps = {}}));
    builder.behind.found();
    EXPECT_TRUE(builder.gives_back());
    EXPECT_EQ(builder.count(U::slices_out), 2U);
}

TEST(Km3netFarm, SlicesBeforeTheRunAndAfterItAreCountedAndSoAreThoseLeft) {
    Readout readout(0, 1);
    const auto send = [&](std::uint64_t slice) {
        for (std::uint32_t dom = 0; dom < line.n_doms; ++dom) {
            const std::array<clb::Hit, 1> hits{{{1, 5, 6}}};
            readout.builder.place({.bytes = datagram_of(dom, slice, 0, hits, false).bytes});
            readout.builder.place({.bytes = datagram_of(dom, slice, 1, {}, true).bytes});
        }
        readout.builder.finish();
    };
    using C = exchange::PackCounter;
    const auto counters = exchange::base_of<C>(readout.packer.counters());
    send(first - 1);
    send(first);
    send(first + n_slices);
    readout.packer.do_work();
    EXPECT_EQ(counters[C::parts_before_start], 1U);
    EXPECT_EQ(counters[C::parts_packed], 1U);
    EXPECT_EQ(counters[C::parts_after_end], 1U);
    EXPECT_EQ(readout.ring.passed(), n_slices / packing);
    EXPECT_FALSE((send(first + n_slices + 1), readout.packer.is_drained()));
    readout.packer.discard();
    readout.packer.do_work();
    EXPECT_EQ(counters[C::parts_left], 1U);
    EXPECT_TRUE(readout.packer.is_drained());
}

TEST(Km3netFarm, WhereBoardsStopBeforeTheEndOfTheRunTheRestIsPassed) {
    Readout readout(0, 1);
    readout.packer.do_work();
    readout.clock.advance(20'000'000'000);
    readout.packer.do_work();
    EXPECT_EQ(readout.ring.passed(), 0U) << "boards that have not begun may begin late";
    std::vector<Sent> sent = sea();
    std::erase_if(sent, [](const Sent& one) { return wire::load_be<std::uint32_t>(one.bytes.data() + 16) > 0; });
    readout.read_out(sent);  // the first slice, half of a packet
    EXPECT_EQ(readout.ring.passed(), 0U);
    readout.clock.advance(2'000'000'000);
    readout.packer.do_work();
    EXPECT_EQ(readout.ring.passed(), n_slices / packing);
    EXPECT_EQ(readout.mfps().size(), 1U);
}

// --- Wrong messages of a peer

TEST(Km3netFarm, PartsOfOtherDomsRunsAndSlicesAreNotUsed) {
    Farm farm(sea());
    farm.builder.hand_on(0, {farm.of_second.at(0), farm.of_first.at(0)});  // each has the other's DOMs
    EXPECT_TRUE(farm.builder.gives_back());
    EXPECT_EQ(farm.builder.count(P::parts_of_other), 2 * packing);
    farm.builder.hand_on(1, {farm.of_first.at(0), farm.of_second.at(1)});  // the part of another slice
    EXPECT_TRUE(farm.builder.gives_back());
    EXPECT_EQ(farm.builder.count(P::parts_of_other), 3 * packing);
    EXPECT_EQ(farm.builder.count(U::slices_incomplete), packing);
    Builder of_other_run(2, room, run + 1), small(2, {.n_slices = 4, .max_hits = 10});
    for (Builder* builder : {&of_other_run, &small}) {
        builder->hand_on(0, {farm.of_first.at(0), farm.of_second.at(0)});
        EXPECT_TRUE(builder->gives_back());
        EXPECT_EQ(builder->count(P::parts_of_other), 2 * packing);
        builder->expect_balance();
    }
    farm.builder.expect_balance();
}

TEST(Km3netFarm, ADomThatIsTwiceInAPartIsNotUsed) {
    Farm farm(sea());
    const std::span<std::byte> bytes = farm.of_first.at(0);
    std::array<std::byte, 4> id{};
    wire::store_le(id.data(), farm.builder.doms[1].id);
    const auto second = std::ranges::search(bytes, id).begin();
    ASSERT_NE(second, bytes.end());
    wire::store_le(&*second, farm.builder.doms[0].id);
    farm.builder.hand_on(0, {bytes, {}});
    EXPECT_TRUE(farm.builder.gives_back());
    EXPECT_EQ(farm.builder.count(P::parts_of_other), 1U);
    EXPECT_EQ(farm.builder.count(P::parts_joined), packing - 1);
}

/// For any wrong byte after a packet's tables, the unpacker reads and writes only within its memory, counts each part
/// once, and the trigger's ledger balances.
TEST(Km3netFarm, WhatIsNotWhatItSaysIsLeftOut) {
    const std::vector<Sent> whole = sea();
    std::vector<Sent> sent;  // small datagrams, so that most bytes are not hits
    std::copy_if(whole.begin(), whole.end(), std::back_inserter(sent),
                 [](const Sent& one) { return one.bytes.size() < 40 + 600; });
    Farm farm(sent);
    const std::span<std::byte> bytes = farm.of_first.at(0);
    const std::size_t begin = wire::mfp::tables_end(packing, wire::mfp::long_fragments);
    for (std::size_t at = begin; at < bytes.size(); at += at < begin + 300 ? 1 : 41) {
        for (const std::byte flip : {std::byte{0xff}, std::byte{1} << (at % 8)}) {
            bytes[at] ^= flip;
            farm.builder.hand_on(0, {bytes, {}});
            bytes[at] ^= flip;
            ASSERT_TRUE(farm.builder.gives_back());
        }
        farm.builder.behind.found();
    }
    farm.builder.expect_balance();
    EXPECT_GT(farm.builder.count(P::parts_malformed), 0U);
    EXPECT_GT(farm.builder.count(P::parts_of_other), 0U);
    auto found = farm.builder.behind.found();
    EXPECT_EQ(farm.builder.count(U::hits), found["hits_used"] + found["hits_continued"] + found["hits_rejected"]);
    EXPECT_EQ(
        found["frames_used"] + found["frames_incomplete"] + found["frames_out_of_range"] + found["frames_out_of_order"],
        farm.builder.count(U::frames_complete) + farm.builder.count(U::frames_incomplete));
}

TEST(Km3netFarm, RefusesMoreReadoutUnitsThanDoms) {
    EXPECT_THROW(Builder(line.n_doms + 1), ConfigError);
    EXPECT_THROW(Builder(0), ConfigError);
}

}  // namespace
}  // namespace anello::km3net::farm_test

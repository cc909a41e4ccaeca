// SPDX-License-Identifier: Apache-2.0
#include "km3net/slices/slice_builder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace anello::km3net::slice_builder_test {
namespace {

using C = DomCounter;
constexpr std::uint64_t first = 12'345'678;

/// Four DOMs that by default send one datagram with hits and a trailer for each slice.
struct Rig {
    explicit Rig(SliceBuilderConfig config = {.run = 7, .store = {.n_slices = 12, .max_hits = 1000}})
        : builder(std::make_unique<SliceBuilder>(config, doms, clock, page)), header_bytes(config.header_bytes()) {}

    struct Packet {
        std::uint32_t dom = 0;
        std::uint64_t slice = first;
        std::uint32_t sequence = 0, n_hits = 2, run = 7;
        bool is_trailer = false, has_clock = true;
        std::uint32_t time_ns = 1000;
        std::uint32_t ticks_off = 0;
        receive::SourceAddress source{0x7f000001, 0};
        Nanoseconds kernel_ns = 0;
    };

    void send(const Packet& packet) {
        const clb::Header header{
            .run_number = packet.run,
            .udp_sequence = packet.sequence,
            .utc_s = static_cast<std::uint32_t>(packet.slice / slices_per_second),
            .utc_16ns =
                static_cast<std::uint32_t>(packet.slice % slices_per_second) * ticks_per_slice + packet.ticks_off,
            .dom_id = doms[packet.dom].id,
            .dom_status = packet.has_clock ? clb::clock_is_valid : 0,
            .more_status = {packet.is_trailer ? trailer_bit : 0, 0, 0}};
        std::vector<clb::Hit> hits(packet.n_hits, clb::Hit{3, packet.time_ns, 26});
        std::vector<std::byte> bytes(2000);
        bytes.resize(clb::write(bytes, header, hits, header_bytes));
        receive::SourceAddress source = packet.source;
        if (source.port() == 0) source = {source.host(), static_cast<std::uint16_t>(5000 + packet.dom)};
        builder->begin_batch(clock.monotonic_ns());
        builder->place({.bytes = bytes, .kernel_ns = packet.kernel_ns, .source = source});
    }
    void trail(std::uint32_t dom, std::uint64_t slice, std::uint32_t sequence) {
        send({.dom = dom, .slice = slice, .sequence = sequence, .n_hits = 0, .is_trailer = true});
    }
    void send_slice(std::uint64_t slice, std::uint32_t but = ~0U) {
        for (std::uint32_t dom = 0; dom < doms.size(); ++dom)
            if (dom != but) send({.dom = dom, .slice = slice});
        for (std::uint32_t dom = 0; dom < doms.size(); ++dom)
            if (dom != but) trail(dom, slice, 1);
    }
    /// Numbers of the slices that the builder has passed on.
    std::vector<std::uint64_t> passed_on(bool all_read = true) {
        if (all_read) read_until_ns = clock.monotonic_ns();
        builder->pass_on(read_until_ns);
        std::vector<std::uint64_t> numbers;
        for (std::uint32_t buffer = 0; builder->store().try_take(buffer);) {
            numbers.push_back(builder->store().slice(buffer).number);
            builder->store().buffers().give_back(buffer);
        }
        return numbers;
    }
    /// Runs that the builder gave to the slices it has passed on.
    std::vector<std::uint32_t> runs_passed_on() {
        builder->pass_on(clock.monotonic_ns());
        std::vector<std::uint32_t> runs;
        for (std::uint32_t buffer = 0; builder->store().try_take(buffer);) {
            runs.push_back(builder->store().slice(buffer).run);
            builder->store().buffers().give_back(buffer);
        }
        return runs;
    }
    /// Sends a complete slice; each DOM sends its own run number.
    void send_slice_of(std::uint64_t slice, const std::vector<std::uint32_t>& runs) {
        for (std::uint32_t dom = 0; dom < runs.size(); ++dom) {
            send({.dom = dom, .slice = slice, .run = runs[dom]});
            send({.dom = dom, .slice = slice, .sequence = 1, .n_hits = 0, .run = runs[dom], .is_trailer = true});
        }
    }
    std::uint64_t count(std::uint32_t dom, C counter) const { return builder->dom_counters(dom)[counter]; }
    std::uint64_t count(SliceCounter counter) const { return builder->counters()[counter]; }
    std::uint64_t sum_of_fates(std::uint32_t dom) const {
        std::uint64_t sum = 0;
        for (const C counter : {C::used, C::duplicate, C::conflicting, C::late, C::ahead, C::other_run, C::wrong_time,
                                C::no_clock, C::beyond, C::no_room, C::no_buffer, C::strangers})
            sum += count(dom, counter);
        return sum;
    }

    ManualClock clock{1'000'000'000};
    Nanoseconds read_until_ns = 0;
    CounterPage page;
    std::vector<Dom> doms = make_line({.n_doms = 4});
    std::unique_ptr<SliceBuilder> builder;
    std::size_t header_bytes;
};

using Numbers = std::vector<std::uint64_t>;

TEST(SliceBuilder, PassesOnASliceAsSoonAsAllDomsHaveEndedIt) {
    Rig rig;
    for (std::uint32_t dom = 0; dom < 4; ++dom) rig.send({.dom = dom});
    for (std::uint32_t dom = 0; dom < 3; ++dom) rig.trail(dom, first, 1);
    EXPECT_EQ(rig.passed_on(), Numbers{});
    rig.trail(3, first, 1);
    EXPECT_EQ(rig.passed_on(), Numbers{first});
    EXPECT_EQ(rig.count(SliceCounter::slices_complete), 1U);
    EXPECT_EQ(rig.count(SliceCounter::hits), 8U);
}

TEST(SliceBuilder, ItsThreadWaitsLongWhereNoSliceIsOpen) {
    Rig rig;
    EXPECT_EQ(rig.builder->longest_wait_ns(), longest_idle_ns);
    for (std::uint32_t dom = 0; dom < 4; ++dom) rig.send({.dom = dom});
    EXPECT_EQ(rig.builder->longest_wait_ns(), usual_wait_ns);
    for (std::uint32_t dom = 0; dom < 4; ++dom) rig.trail(dom, first, 1);
    rig.passed_on();
    EXPECT_EQ(rig.builder->longest_wait_ns(), longest_idle_ns);
}

TEST(SliceBuilder, ASliceKnowsWhenTheLastDatagramCameThatIsUsedOfIt) {
    Rig rig;
    const Nanoseconds come_ns = rig.clock.wall_ns() + 1000;
    for (std::uint32_t dom = 0; dom < 4; ++dom) rig.send({.dom = dom, .kernel_ns = come_ns - dom});
    rig.send({.dom = 0, .kernel_ns = come_ns + 50});  // a duplicate
    rig.builder->finish();
    std::uint32_t buffer = 0;
    ASSERT_TRUE(rig.builder->store().try_take(buffer));
    EXPECT_EQ(rig.builder->store().slice(buffer).last_wall_ns, come_ns);
}

TEST(SliceBuilder, WaitsForWhatATrailerSaysIsMissing) {
    Rig rig;
    for (std::uint32_t dom = 0; dom < 4; ++dom) rig.send({.dom = dom});
    for (std::uint32_t dom = 0; dom < 4; ++dom) rig.trail(dom, first, dom == 2 ? 2 : 1);
    EXPECT_EQ(rig.passed_on(), Numbers{});
    rig.send({.dom = 2, .sequence = 1});
    EXPECT_EQ(rig.passed_on(), Numbers{first});
    EXPECT_EQ(rig.count(2, C::frames_complete), 1U);
}

TEST(SliceBuilder, ASilentDomDelaysNothingOnceItIsKnownAndIsCounted) {
    Rig rig;
    rig.send_slice(first);
    EXPECT_EQ(rig.passed_on(), Numbers{first});
    for (std::uint64_t slice = first + 1; slice <= first + 4; ++slice) rig.send_slice(slice, 3);
    EXPECT_EQ(rig.passed_on(), (Numbers{})) << "half of the others are not yet beyond the lag";
    rig.send_slice(first + 5, 3);
    EXPECT_EQ(rig.passed_on(), Numbers{first + 1});
    for (std::uint64_t slice = first + 6; slice <= first + 9; ++slice) {
        rig.send_slice(slice, 3);
        rig.passed_on();
    }
    EXPECT_TRUE(rig.builder->is_silent(3));
    rig.send_slice(first + 10, 3);
    EXPECT_EQ(rig.passed_on(), Numbers{first + 10}) << "at once";
    EXPECT_EQ(rig.count(3, C::frames_absent), 10U);
    EXPECT_EQ(rig.count(3, C::silences), 1U);
    rig.send_slice(first + 11);
    EXPECT_EQ(rig.passed_on(), Numbers{first + 11});
    EXPECT_FALSE(rig.builder->is_silent(3));
}

/// Each DOM is waited for until the first slice has been passed on: its first datagram may be the last of all.
TEST(SliceBuilder, ADomThatHasNotSentYetIsNotLeftOutOfTheFirstSlice) {
    Rig rig;
    rig.send_slice(first, 3);
    EXPECT_EQ(rig.passed_on(), Numbers{});
    rig.send({.dom = 3});
    rig.trail(3, first, 1);
    EXPECT_EQ(rig.passed_on(), Numbers{first});
    EXPECT_EQ(rig.count(SliceCounter::slices_complete), 1U);
}

TEST(SliceBuilder, ADomThatNeverSendsDelaysTheFirstSliceOnly) {
    Rig rig;
    for (std::uint64_t slice = first; slice < first + 4; ++slice) rig.send_slice(slice, 3);
    EXPECT_EQ(rig.passed_on(), Numbers{});
    rig.send_slice(first + 4, 3);
    EXPECT_EQ(rig.passed_on(), (Numbers{first, first + 1, first + 2, first + 3, first + 4}));
}

/// With a lag of 0 half of the DOMs in the next slice pass a slice on, and one DOM that has ended it does not.
TEST(SliceBuilder, WithoutALagNoDomIsSilentThatSentTheSliceBefore) {
    Rig rig({.run = 7, .max_lag_slices = 0, .store = {.n_slices = 12, .max_hits = 1000}});
    rig.send_slice(first);
    EXPECT_EQ(rig.passed_on(), Numbers{first});
    rig.send({.dom = 0, .slice = first + 1});
    rig.trail(0, first + 1, 1);
    EXPECT_EQ(rig.passed_on(), Numbers{});
    rig.send_slice(first + 1);
    EXPECT_EQ(rig.passed_on(), Numbers{first + 1});
    EXPECT_EQ(rig.count(SliceCounter::slices_complete), 2U);
}

TEST(SliceBuilder, CountsWhatIsNotUsedByCause) {
    Rig rig;
    rig.send_slice(first);
    rig.passed_on();
    rig.send({.slice = first + 1});
    rig.send({.slice = first + 1});  // duplicate
    rig.trail(0, first + 1, 1);
    rig.trail(0, first + 1, 1);                                     // duplicate trailer
    rig.send({.slice = first});                                     // late
    rig.send({.slice = first + 1000});                              // ahead
    rig.send({.slice = first + 1, .sequence = 1, .run = 8});        // other run
    rig.send({.slice = first + 1, .sequence = 1, .ticks_off = 1});  // wrong time
    rig.send({.slice = first + 1, .sequence = max_datagrams});      // beyond
    rig.send({.slice = first + 1, .sequence = 1, .is_trailer = false, .has_clock = false});
    for (std::uint32_t i = 2; i < 12; ++i)
        rig.send({.slice = first + 1, .sequence = i, .n_hits = 100});           // one too many
    rig.send({.slice = first + 1, .sequence = 20, .source = {0x0a000001, 1}});  // stranger
    EXPECT_EQ(rig.count(0, C::duplicate), 2U);
    EXPECT_EQ(rig.count(0, C::late), 1U);
    EXPECT_EQ(rig.count(0, C::ahead), 1U);
    EXPECT_EQ(rig.count(0, C::other_run), 1U);
    EXPECT_EQ(rig.count(0, C::wrong_time), 1U);
    EXPECT_EQ(rig.count(0, C::no_clock), 1U);
    EXPECT_EQ(rig.count(0, C::beyond), 1U);
    EXPECT_EQ(rig.count(0, C::no_room), 1U);
    EXPECT_EQ(rig.count(0, C::strangers), 1U);
    EXPECT_EQ(rig.count(0, C::datagrams), rig.sum_of_fates(0));
    rig.builder->finish();
    EXPECT_EQ(rig.passed_on(), Numbers{first + 1});
    EXPECT_EQ(rig.count(0, C::frames_incomplete), 1U);
}

/// A board whose clock stands still sends the time of a slice again, with other hits.
TEST(SliceBuilder, TheSameNumberWithOtherHitsIsNoDuplicate) {
    Rig rig;
    rig.send({.dom = 0});
    rig.send({.dom = 0});
    rig.send({.dom = 0, .time_ns = 2000});
    rig.send({.dom = 0, .n_hits = 1});
    EXPECT_EQ(rig.count(0, C::duplicate), 1U);
    EXPECT_EQ(rig.count(0, C::conflicting), 2U);
    EXPECT_EQ(rig.count(0, C::datagrams), rig.sum_of_fates(0));
}

TEST(SliceBuilder, OneDomCannotMoveTheWindowWhereverItClaimsToBe) {
    for (const std::uint64_t claim : {first - 5001, first - 3, first + 5, first + 1'000'001}) {
        Rig rig;
        rig.send({.dom = 0, .slice = claim});
        for (std::uint64_t slice = first; slice < first + 6; ++slice) {
            rig.send_slice(slice, 0);
            rig.builder->pass_on(rig.clock.monotonic_ns());
            rig.send({.dom = 0, .slice = claim, .sequence = static_cast<std::uint32_t>(slice - first + 1)});
        }
        rig.builder->finish();
        Numbers numbers = rig.passed_on();
        if (claim < first || claim > first + 5) std::erase(numbers, claim);
        EXPECT_EQ(numbers, (Numbers{first, first + 1, first + 2, first + 3, first + 4, first + 5})) << claim;
        EXPECT_EQ(rig.count(0, C::datagrams), rig.sum_of_fates(0)) << claim;
        EXPECT_EQ(rig.count(1, C::late) + rig.count(1, C::ahead), 0U) << claim;
    }
}

TEST(SliceBuilder, FollowsAJumpOfAllClocks) {
    Rig rig;
    rig.send_slice(first);
    EXPECT_EQ(rig.passed_on(), Numbers{first});
    const std::uint64_t far = first + 3'000'000'000;
    for (std::uint64_t slice = far; slice < far + 5; ++slice) rig.send_slice(slice);
    rig.builder->finish();
    EXPECT_EQ(rig.passed_on(), (Numbers{far, far + 1, far + 2, far + 3, far + 4}));
    EXPECT_EQ(rig.count(SliceCounter::slices_incomplete), 1U) << "half of the DOMs had to come there first";
    EXPECT_EQ(rig.count(SliceCounter::slices_missing), far - first - 1);
    for (std::uint32_t dom = 0; dom < 4; ++dom) EXPECT_EQ(rig.count(dom, C::datagrams), rig.sum_of_fates(dom));
}

// --- The run, where the configuration names none

const SliceBuilderConfig any_run{.run = 0, .store = {.n_slices = 12, .max_hits = 1000}};
using Runs = std::vector<std::uint32_t>;

TEST(SliceBuilder, FewerThanHalfOfTheDomsDoNotDecideTheRunThoughTheySpeakFirst) {
    Rig rig(any_run);
    for (std::uint64_t slice = first; slice < first + 5; ++slice) rig.send_slice_of(slice, {9, 7, 7, 7});
    EXPECT_EQ(rig.runs_passed_on(), (Runs{7, 7, 7, 7, 7}));
    EXPECT_EQ(rig.count(0, C::other_run), 10U) << "datagrams and trailers";
    EXPECT_EQ(rig.count(0, C::used), 0U);
    EXPECT_EQ(rig.count(0, C::frames_absent), 5U);
    EXPECT_EQ(rig.count(SliceCounter::hits), 5 * 3 * 2U);
    EXPECT_EQ(rig.builder->log(0).unused.ranges().size(), 5U) << "both of a slice, one after the other";
    for (std::uint32_t dom = 0; dom < 4; ++dom) EXPECT_EQ(rig.count(dom, C::datagrams), rig.sum_of_fates(dom));
    for (std::uint32_t dom = 1; dom < 4; ++dom) EXPECT_EQ(rig.count(dom, C::frames_complete), 5U);
}

TEST(SliceBuilder, HalfOfTheDomsMayBeginARunAndDoNotEndOne) {
    Rig rig(any_run);
    rig.send_slice_of(first, {7, 7, 7, 9});
    rig.send_slice_of(first + 1, {9, 7, 7, 9});
    rig.send_slice_of(first + 2, {9, 9, 7, 9});
    rig.send_slice_of(first + 3, {9, 7, 7, 9});
    rig.send_slice_of(first + 4, {8, 8, 8, 8});
    EXPECT_EQ(rig.runs_passed_on(), (Runs{7, 7, 9, 9, 8}));
}

TEST(SliceBuilder, ADomThatSpeaksAloneOfASliceDoesNotDecideItsRun) {
    Rig rig(any_run);
    rig.send_slice_of(first, {7, 7, 7, 7});
    EXPECT_EQ(rig.runs_passed_on(), Runs{7});
    rig.send({.dom = 0, .slice = first + 1, .run = 9});
    for (std::uint64_t slice = first + 2; slice < first + 6; ++slice) rig.send_slice_of(slice, {7, 7, 7, 7});
    rig.builder->finish();
    EXPECT_EQ(rig.runs_passed_on(), (Runs{7, 7, 7, 7, 7}));
    EXPECT_EQ(rig.count(0, C::other_run), 1U);
}

TEST(SliceBuilder, WhereNoHalfAgreesNothingOfTheFirstSlicesIsUsed) {
    Rig rig(any_run);
    rig.send_slice_of(first, {7, 8, 9, 10});
    rig.send_slice_of(first + 1, {7, 8, 7, 10});
    rig.builder->finish();
    EXPECT_EQ(rig.runs_passed_on(), (Runs{0, 7}));
    for (std::uint32_t dom = 0; dom < 4; ++dom) EXPECT_EQ(rig.count(dom, C::datagrams), rig.sum_of_fates(dom));
    EXPECT_EQ(rig.count(0, C::other_run), 2U);
    EXPECT_EQ(rig.count(1, C::other_run), 4U);
}

TEST(SliceBuilder, ADomThatSpeaksOfTwoRunsInASliceIsTakenByItsFirstWord) {
    Rig rig(any_run);
    rig.send({.dom = 0, .sequence = 1, .run = 9});
    rig.send_slice_of(first, {7, 7, 7, 7});
    rig.builder->finish();
    EXPECT_EQ(rig.runs_passed_on(), Runs{7});
    EXPECT_EQ(rig.count(0, C::other_run), 3U);
    EXPECT_EQ(rig.count(SliceCounter::hits), 3 * 2U);
}

TEST(SliceBuilder, ASliceIsPassedOnAfterTheTimeoutThoughNothingComes) {
    Rig rig;
    rig.send_slice(first, 1);
    rig.send({.dom = 1});
    EXPECT_EQ(rig.passed_on(), Numbers{});
    rig.clock.advance(1'100'000'000);
    EXPECT_EQ(rig.passed_on(false), Numbers{}) << "something may wait to be read";
    EXPECT_EQ(rig.passed_on(true), Numbers{first});
    EXPECT_EQ(rig.count(SliceCounter::slices_incomplete), 1U);
    EXPECT_EQ(rig.count(1, C::frames_incomplete), 1U);
}

/// The queue is never empty, but the builder knows up to which time of arrival it has been read.
TEST(SliceBuilder, AFloodDelaysASliceByItsQueueOnly) {
    Rig rig;
    rig.send_slice(first, 1);
    rig.send({.dom = 1});
    rig.clock.advance(2'000'000'000);
    rig.read_until_ns = rig.clock.monotonic_ns() - 1'000'000'000;
    EXPECT_EQ(rig.passed_on(false), Numbers{});
    rig.read_until_ns += 1;
    EXPECT_EQ(rig.passed_on(false), Numbers{first});
}

/// The node reads on although a minority has opened all slices of the window.
TEST(SliceBuilder, AMinorityThatFillsTheWindowHoldsUpNothing) {
    Rig rig({.run = 7, .window_slices = 8, .store = {.n_slices = 10, .max_hits = 1000}});
    rig.send_slice(first, 1);
    rig.send({.dom = 1});
    for (std::uint64_t slice = first + 1; slice < first + 8; ++slice) rig.send({.dom = 3, .slice = slice});
    EXPECT_TRUE(rig.builder->has_room());
    rig.trail(1, first, 1);
    EXPECT_EQ(rig.passed_on(), Numbers{first});
}

TEST(SliceBuilder, WithTheShortHeaderAFrameEndsWithTheNextSlice) {
    Rig rig({.run = 0, .store = {.max_hits = 1000, .has_trailers = false}});
    for (std::uint64_t slice = first; slice < first + 2; ++slice)
        for (std::uint32_t dom = 0; dom < 4; ++dom) rig.send({.dom = dom, .slice = slice});
    EXPECT_EQ(rig.passed_on(), Numbers{first});
    EXPECT_EQ(rig.count(0, C::frames_complete), 1U);
}

TEST(SliceBuilder, WhatWasASourceOnTrialIsRevokedWhenTheDomTakesOver) {
    Rig rig;
    for (std::uint32_t dom = 1; dom < 4; ++dom) rig.send({.dom = dom});
    rig.send({.dom = 0, .source = {0x0a000001, 9}});  // a stranger sends first
    for (std::uint32_t i = 0; i < 4; ++i) rig.send({.dom = 0, .sequence = i});
    EXPECT_EQ(rig.count(0, C::source_changes), 1U);
    EXPECT_EQ(rig.count(0, C::datagrams), rig.sum_of_fates(0));
    rig.trail(0, first, 4);
    rig.builder->finish();
    EXPECT_EQ(rig.count(0, C::hits), 2 * (rig.count(0, C::used) - 1));
}

TEST(SliceBuilder, TheLogHasEachNumberThatCameAndWhatBecameOfTheOthers) {
    Rig rig;
    rig.send_slice(first);
    rig.passed_on();
    rig.send({.dom = 2, .slice = first, .sequence = 5});
    ASSERT_EQ(rig.builder->log(2).seen.ranges().size(), 1U);
    EXPECT_EQ(rig.builder->log(2).seen.ranges()[0].begin, 0U);
    EXPECT_EQ(rig.builder->log(2).seen.ranges()[0].end, 2U) << "data and trailer";
    ASSERT_EQ(rig.builder->log(2).unused.ranges().size(), 1U);
    EXPECT_EQ(rig.builder->log(2).unused.ranges()[0].begin, 5U);
    EXPECT_EQ(rig.builder->log(2).unused.ranges()[0].cause, static_cast<std::uint32_t>(C::late));
}

TEST(SliceBuilder, WithoutAFreeBufferDatagramsShouldWait) {
    Rig rig({.run = 7, .store = {.n_slices = 10, .max_hits = 1000}});
    EXPECT_TRUE(rig.builder->has_room());
    for (std::uint64_t slice = first; slice < first + 3; ++slice) rig.send_slice(slice);
    rig.builder->pass_on(rig.clock.monotonic_ns());
    EXPECT_FALSE(rig.builder->has_room()) << "the builder has passed on three, and the window needs eight";
    rig.passed_on();
    EXPECT_TRUE(rig.builder->has_room());
}

TEST(SliceBuilder, RefusesAWindowThatItsLagFills) {
    const std::vector<Dom> doms = make_line({});
    CounterPage page;
    EXPECT_ANY_THROW(SliceBuilder({.window_slices = 4, .max_lag_slices = 3}, doms, SystemClock::instance(), page));
    EXPECT_ANY_THROW(SliceBuilder({.window_slices = 8, .store = {.n_slices = 9}}, doms, SystemClock::instance(), page));
}

}  // namespace
}  // namespace anello::km3net::slice_builder_test

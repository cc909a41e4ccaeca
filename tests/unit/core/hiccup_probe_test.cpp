// SPDX-License-Identifier: Apache-2.0
#include "core/latency/hiccup_probe.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "patience.hpp"

namespace anello {
namespace {

constexpr Nanoseconds nap_ns = HiccupProbe::shortest_nap_ns;
std::int64_t cpu_ns = 0;  // of the thread that probes

struct Rig {
    ManualClock clock{1'000'000'000};
    std::uint64_t n_done = 0;
    HiccupProbe probe{{.share = 0.005, .n_done = [this] { return n_done; }, .cpu_ns = []() noexcept { return cpu_ns; }},
                      clock};

    void wake_after(Nanoseconds ns) {
        clock.advance(ns);
        ++n_done;
        EXPECT_EQ(probe.do_work(), 1U);
    }
};

TEST(HiccupProbe, NotesHowMuchLaterThanAskedItWoke) {
    Rig rig;
    EXPECT_EQ(rig.probe.do_work(), 1U);
    EXPECT_EQ(rig.probe.delays().count(), 0U) << "nothing was asked yet";
    rig.wake_after(nap_ns);
    rig.wake_after(nap_ns + 300'000);
    EXPECT_EQ(rig.probe.delays().count(), 2U);
    EXPECT_EQ(rig.probe.delays().max_ns(), 300'000U);
    EXPECT_EQ(rig.probe.series().bin(0).max_ns, 300'000U);
}

TEST(HiccupProbe, IsNotDoneBeforeItsTime) {
    Rig rig;
    rig.probe.do_work();
    rig.clock.advance(nap_ns - 1);
    EXPECT_EQ(rig.probe.do_work(), 0U);
    EXPECT_EQ(rig.probe.delays().count(), 0U);
}

/// Work could have come at the moment of any sleep that a long delay swallowed.
TEST(HiccupProbe, ALongDelayStandsForAllNapsInIt) {
    Rig rig;
    rig.probe.do_work();
    rig.wake_after(nap_ns + 3 * nap_ns + nap_ns / 2);
    EXPECT_EQ(rig.probe.delays().count(), 4U);
    EXPECT_EQ(rig.probe.series().bin(0).count, 1U);
}

TEST(HiccupProbe, WithoutDataItNapsLongAndNotesNothing) {
    Rig rig;
    rig.probe.do_work();
    rig.clock.advance(HiccupProbe::idle_after_ns + nap_ns);
    rig.probe.do_work();  // this delay was still noted
    const auto n_noted = rig.probe.delays().count();
    rig.clock.advance(HiccupProbe::longest_nap_ns - 1);
    EXPECT_EQ(rig.probe.do_work(), 0U);
    rig.wake_after(5'000'000);  // data have come again
    EXPECT_EQ(rig.probe.delays().count(), n_noted);
    rig.wake_after(nap_ns);
    EXPECT_EQ(rig.probe.delays().count(), n_noted + 1);
}

/// Looks of 20 us each may take no more than 0.5 %: one every 4 ms. Looks that cost nothing may be frequent.
TEST(HiccupProbe, NapsAsLongAsItsCostDemands) {
    Rig rig;
    const auto nap_for = [&](std::int64_t cost_ns) {
        for (std::uint32_t i = 0; i < 2 * HiccupProbe::n_naps_per_look; ++i) {
            cpu_ns += cost_ns;
            rig.wake_after(HiccupProbe::longest_nap_ns);
        }
        Nanoseconds slept_ns = 0;
        for (; rig.probe.do_work() == 0; slept_ns += 10'000) rig.clock.advance(10'000);
        return slept_ns;
    };
    EXPECT_EQ(nap_for(20'000), 4'000'000);
    EXPECT_EQ(nap_for(0), HiccupProbe::shortest_nap_ns);
    EXPECT_EQ(nap_for(1'000'000'000), HiccupProbe::longest_nap_ns);
}

TEST(HiccupProbe, ItsDescriptorTellsWhenItIsTime) {
    std::uint64_t n_done = 0;
    HiccupProbe probe({.share = 0.005, .n_done = [&] { return ++n_done; }}, SystemClock::instance());
    for (int i = 0; i < 3; ++i) {
        pollfd awaited{probe.descriptor(), POLLIN, 0};
        ASSERT_EQ(poll(&awaited, 1, anello::test::patience_ms), 1);
        EXPECT_EQ(probe.do_work(), 1U);
    }
    EXPECT_GE(probe.delays().count(), 2U);
}

/// Compares with the delay of arrivals at random moments of such a machine: of those that come during a delay h, the
/// share (h - d) / h waits longer than d.
TEST(HiccupProbe, QuantilesAreThoseOfWorkThatComesAtAnyMoment) {
    constexpr unsigned seed = 7;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> distance_ns(1 / 40e6), length_ns(1 / 1.2e6);
    std::vector<std::pair<Nanoseconds, Nanoseconds>> delays;  // begin, length
    constexpr Nanoseconds end_ns = 80'000'000'000;
    for (Nanoseconds at = 0; at < end_ns;) {
        at += static_cast<Nanoseconds>(distance_ns(random));
        delays.emplace_back(at, static_cast<Nanoseconds>(length_ns(random)));
        at += delays.back().second;
    }
    Rig rig;
    rig.clock.set(0);
    rig.probe.do_work();
    std::size_t next = 0;
    for (Nanoseconds due = nap_ns; due < end_ns; due = rig.clock.monotonic_ns() + nap_ns) {
        while (next < delays.size() && delays[next].first + delays[next].second <= due) ++next;
        const bool is_held = next < delays.size() && delays[next].first <= due;
        rig.wake_after((is_held ? delays[next].first + delays[next].second : due) - rig.clock.monotonic_ns());
    }
    for (const double share : {0.01, 0.001}) {
        double low = 0, high = 1e9;
        for (int i = 0; i < 60; ++i) {
            const double d = (low + high) / 2;
            double waiting = 0;
            for (const auto& [begin, length] : delays) waiting += std::max(0.0, static_cast<double>(length) - d);
            (waiting / static_cast<double>(end_ns) > share ? low : high) = d;
        }
        EXPECT_NEAR(static_cast<double>(rig.probe.delays().quantile_ns(1 - share)), high, 0.1 * high) << share;
    }
}

}  // namespace
}  // namespace anello

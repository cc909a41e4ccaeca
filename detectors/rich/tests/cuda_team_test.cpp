// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "rich/rings/lanes_cuda.hpp"
#include "rich/rings/team_search.kernel.hpp"
#include "rich/tests/fiber_team.hpp"
#include "rich/tests/ring_conformance.hpp"

/// The search that a half warp does on a CUDA device, run by sixteen fibers: the code of the device but for its
/// intrinsics. Lanes run ahead of each other as far as the code lets them, in three orders.
namespace anello::rich {
namespace {

using fibers::FiberTeam;
using fibers::Order;
using Lanes = TeamLanes<FiberTeam>;
using conformance::sample_of;
using conformance::values_of;
using conformance::view_of;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool fibers_work = false;
#else
constexpr bool fibers_work = true;
#endif

class CudaTeam : public testing::Test {
  protected:
    void SetUp() override {
        if (!fibers_work) GTEST_SKIP() << "sanitizers do not know fibers";
    }
};

/// What the team finds; all its lanes must find the same.
EventRings search(const HitsView& hits, std::uint32_t event, const RingFinderConfig& config, Order order) {
    const Bounds bounds = bounds_of<Lanes>(config.acceptance);
    EventRings found[fibers::n_lanes]{};
    const bool in_step = FiberTeam::run(order, event, [&] {
        EventRings mine{};
        search_together<Lanes>(hits, event, config, bounds, mine);
        found[FiberTeam::lane()] = mine;
    });
    EXPECT_TRUE(in_step) << "event " << event << ": the lanes parted ways";
    for (const EventRings& lane : found) EXPECT_EQ(values_of(lane), values_of(found[0])) << "event " << event;
    return found[0];
}

EventRings search_by_one(const HitsView& hits, std::uint32_t event, const RingFinderConfig& config) {
    EventRings found{};
    find_many_of<ScalarLanes>(hits, event, config, bounds_of<ScalarLanes>(config.acceptance), found);
    return found;
}

bool nearly_same(const EventRings& a, const EventRings& b, float tolerance_mm) {
    if (a.n_rings != b.n_rings || a.flags != b.flags) return false;
    for (int k = 0; k < a.n_rings; ++k) {
        const Ring &p = a.ring[k], &q = b.ring[k];
        if (std::max({std::abs(p.x_mm - q.x_mm), std::abs(p.y_mm - q.y_mm), std::abs(p.radius_mm - q.radius_mm)}) >
            tolerance_mm)
            return false;
    }
    return true;
}

TEST_F(CudaTeam, NoOrderOfTheThreadsChangesTheRings) {
    const RingFinderConfig config;
    for (const int n_rings : {1, 2, 3, 4}) {
        const auto sample = sample_of(n_rings, 9100, 8);
        for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
            const EventRings first = search(view_of(sample), event, config, Order::first_ahead);
            EXPECT_EQ(values_of(first), values_of(search(view_of(sample), event, config, Order::last_ahead)));
            EXPECT_EQ(values_of(first), values_of(search(view_of(sample), event, config, Order::random)));
        }
    }
}

TEST_F(CudaTeam, FindsTheRingsOfTheScalarBuild) {
    const RingFinderConfig config;
    int n_events = 0, n_same = 0, n_rings_found = 0;
    for (const int n_rings : {1, 2, 3, 4}) {
        const auto sample = sample_of(n_rings, 9200, 40);
        for (std::uint32_t event = 0; event < sample.n_events(); ++event, ++n_events) {
            const EventRings team = search(view_of(sample), event, config, Order::first_ahead);
            n_same += nearly_same(team, search_by_one(view_of(sample), event, config), 0.2f) ? 1 : 0;
            n_rings_found += team.n_rings;
        }
    }
    EXPECT_GE(n_same, 0.97 * n_events) << "of " << n_events;
    EXPECT_GT(n_rings_found, 2 * n_events);
}

TEST_F(CudaTeam, EventsOfAnyKindGiveWhatTheScalarBuildGives) {
    const float nan = std::nanf(""), infinite = HUGE_VALF;
    std::vector<float> x{nan, infinite, 1e9f, 100, 0}, y{0, 0, 0, 0, nan};
    std::vector<std::uint32_t> offset{0, 0, 5, 4};  // empty, unusable, decreasing
    for (int i = 0; i < 100; ++i) {                 // more hits than are taken, in one place, then on a line
        x.push_back(i < 70 ? 50.0f : static_cast<float>(i));
        y.push_back(20);
    }
    offset.insert(offset.end(), {75, 105});
    const HitsView hits{static_cast<std::uint32_t>(offset.size() - 1), offset.data(), x.data(), y.data()};
    for (std::uint32_t event = 0; event < hits.n_events; ++event)
        for (const Order order : {Order::first_ahead, Order::last_ahead, Order::random})
            EXPECT_TRUE(nearly_same(search(hits, event, {}, order), search_by_one(hits, event, {}), 0.2f)) << event;
}

/// What a team shares limits how many teams a multiprocessor holds.
TEST(CudaMemory, ATeamSharesLessThanTwelveKilobytes) {
    EXPECT_LE(sizeof(SearchSpace) + sizeof(Candidates) + 2 * sizeof(EventHits), 12'000U);
}

TEST(CudaBytes, FourAtATimeAreFourOfOne) {
    std::mt19937 random(9300);
    for (int k = 0; k < 1000; ++k) {
        const auto a = static_cast<std::uint32_t>(random()), b = static_cast<std::uint32_t>(random());
        for (int shift = 0; shift < 32; shift += 8) {
            const auto p = static_cast<std::uint8_t>(a >> shift), q = static_cast<std::uint8_t>(b >> shift);
            const auto at = [shift](std::uint32_t four) { return static_cast<std::uint8_t>(four >> shift); };
            EXPECT_EQ(at(FourBytes::max(a, b)), ScalarLanes::byte_max(p, q));
            EXPECT_EQ(at(FourBytes::add(a, b)), ScalarLanes::byte_add(p, q));
            EXPECT_EQ(at(FourBytes::subtract(a, b)), ScalarLanes::byte_subtract(p, q));
        }
    }
}

}  // namespace
}  // namespace anello::rich

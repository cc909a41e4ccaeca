// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decider.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "rich/rings/ring_finder_cuda.hpp"
#include "rich/tests/device_by_ids.hpp"

namespace anello::rich::decider_test {
namespace {

constexpr events::BatchShape shape{.max_events = 8, .max_hits = 256};
constexpr std::uint32_t n_ring_hits = 16;

/// Hit ids 0..15 are on a circle of 150 mm around (20, -10) mm, ids 16..31 on one of 120 mm around (-60, 40) mm.
std::vector<HitPosition> two_circles() {
    std::vector<HitPosition> positions;
    for (const auto& [x, y, radius] : {std::array{20.0, -10.0, 150.0}, std::array{-60.0, 40.0, 120.0}})
        for (std::uint32_t i = 0; i < n_ring_hits; ++i) {
            const double angle = 2 * M_PI * i / n_ring_hits;
            positions.push_back(
                {static_cast<float>(x + radius * std::cos(angle)), static_cast<float>(y + radius * std::sin(angle))});
        }
    return positions;
}

class DeciderTest : public testing::Test {
  protected:
    DeciderTest() : memory(events::batch_bytes(shape)), batch(events::columns_of(memory, shape)) {
        batch.hit_offset[0] = 0;
    }

    void add_hits(std::uint16_t first_id, std::uint32_t n, std::int16_t time_fine) {
        for (std::uint32_t i = 0; i < n; ++i) {
            batch.hit_id[n_hits] = static_cast<std::uint16_t>(first_id + i);
            batch.hit_time_fine[n_hits++] = time_fine;
        }
    }
    void end_event() { batch.hit_offset[++n_events] = n_hits; }

    Decider::Outcome decide(const DeciderConfig& config) {
        Decider decider(config, two_circles(), shape);
        return decider.decide(batch, n_events, rings, primitive_id);
    }

    std::vector<std::byte> memory;
    events::BatchColumns batch;
    std::uint32_t n_events = 0, n_hits = 0;
    EventRings rings[shape.max_events];
    std::uint16_t primitive_id[shape.max_events];
};

TEST_F(DeciderTest, FindsTheRingAndChoosesItsPrimitive) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    end_event();  // no hits
    const auto outcome =
        decide({.finder = {}, .backend = Backend::cpu, .in_time_window_ns = 0, .primitive_by_rings = {0, 0x4001}});
    EXPECT_EQ(outcome.n_hits_in_time, n_ring_hits);
    ASSERT_EQ(rings[0].n_rings, 1);
    EXPECT_NEAR(rings[0].ring[0].x_mm, 20, 0.5);
    EXPECT_NEAR(rings[0].ring[0].y_mm, -10, 0.5);
    EXPECT_NEAR(rings[0].ring[0].radius_mm, 150, 0.5);
    EXPECT_EQ(primitive_id[0], 0x4001);
    EXPECT_EQ(rings[1].n_rings, 0);
    EXPECT_EQ(primitive_id[1], 0);
}

TEST_F(DeciderTest, ARingOutOfTimeDoesNotCount) {
    add_hits(0, n_ring_hits, 5);
    add_hits(n_ring_hits, n_ring_hits, 200);  // 19.5 ns away
    end_event();
    const auto outcome =
        decide({.finder = {}, .backend = Backend::cpu, .in_time_window_ns = 3, .primitive_by_rings = {}});
    EXPECT_EQ(outcome.n_hits_in_time, n_ring_hits);
    EXPECT_EQ(outcome.n_hits_out_of_time, n_ring_hits);
    ASSERT_EQ(rings[0].n_rings, 1);
    EXPECT_NEAR(rings[0].ring[0].radius_mm, 150, 0.5);
    decide({.finder = {}, .backend = Backend::cpu, .in_time_window_ns = 0, .primitive_by_rings = {}});
    EXPECT_EQ(rings[0].n_rings, 2);
}

/// Of two rings, one with all its hits and one with half of them, the second is dropped and flagged.
TEST_F(DeciderTest, RingsThatTheHitsDoNotSupportEnoughAreDropped) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    add_hits(n_ring_hits, n_ring_hits / 2, 0);
    end_event();
    const Decider::Outcome kept = decide({});
    ASSERT_EQ(rings[0].n_rings, 1);
    ASSERT_EQ(rings[1].n_rings, 1);
    EXPECT_EQ(kept.n_rings_dropped, 0U);
    const auto expect_one = [this](const DeciderConfig& config) {
        const Decider::Outcome outcome = decide(config);
        EXPECT_EQ(outcome.n_rings_dropped, 1U);
        EXPECT_EQ(rings[0].n_rings, 1);
        EXPECT_EQ(rings[0].flags & rings_dropped, 0);
        EXPECT_EQ(primitive_id[0], config.primitive_by_rings[1]);
        EXPECT_EQ(rings[1].n_rings, 0);
        EXPECT_EQ(rings[1].flags & rings_dropped, rings_dropped);
        EXPECT_EQ(primitive_id[1], config.primitive_by_rings[0]);
    };
    expect_one({.min_assigned_hits = n_ring_hits / 2 + 1});
    expect_one({.min_likelihood_ratio = 30});
    EXPECT_EQ(decide({.min_likelihood_ratio = 1000}).n_rings_dropped, 2U);
}

/// Qualities are those of judge_rings(), or unknown, and move up with their ring when one before it is dropped.
TEST_F(DeciderTest, RingsAreJudgedWhereThatIsAskedFor) {
    for (std::uint16_t half = 0; half < 2; ++half) add_hits(half * n_ring_hits, n_ring_hits / (2 - half), 0);
    end_event();
    EventQuality all[shape.max_events], some[shape.max_events];
    const auto judged = [this](const DeciderConfig& config, EventQuality* quality, Effort effort) {
        Decider decider(config, two_circles(), shape);
        return decider.decide(batch, n_events, rings, primitive_id, effort, quality);
    };
    EXPECT_EQ(judged({}, all, Effort::full).n_rings_dropped, 0U);
    ASSERT_EQ(rings[0].n_rings, 2);
    const bool is_first_weak = all[0][0].n_assigned < all[0][1].n_assigned;
    const RingQuality& strong = all[0][is_first_weak ? 1 : 0];
    EXPECT_EQ(strong.n_assigned, n_ring_hits);
    EXPECT_GT(strong.log_likelihood_ratio, 30);
    EXPECT_GT(strong.covariance_mm2[8], 0);
    const auto cut = static_cast<std::uint32_t>(n_ring_hits / 2 + 1);
    EXPECT_EQ(judged({.min_assigned_hits = cut}, some, Effort::full).n_rings_dropped, 1U);
    EXPECT_EQ(some[0][0].n_assigned, strong.n_assigned);
    EXPECT_EQ(some[0][0].log_likelihood_ratio, strong.log_likelihood_ratio);
    judged({}, some, Effort::cheaper);
    ASSERT_GE(rings[0].n_rings, 1);
    EXPECT_EQ(some[0][0].n_assigned, 0);
    EXPECT_TRUE(std::isnan(some[0][0].log_likelihood_ratio));
}

TEST_F(DeciderTest, ABehindDecisionDropsNothing) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    Decider decider({.min_likelihood_ratio = 1000}, two_circles(), shape);
    EXPECT_EQ(decider.decide(batch, n_events, rings, primitive_id, Effort::cheaper).n_rings_dropped, 0U);
    EXPECT_EQ(rings[0].n_rings, 1);
}

TEST_F(DeciderTest, HitsWithoutAPositionAreLeftOutAndCounted) {
    add_hits(0, n_ring_hits, 0);
    add_hits(2 * n_ring_hits, 1, 0);  // the first unknown id
    add_hits(5000, 2, 0);
    end_event();
    const auto outcome =
        decide({.finder = {}, .backend = Backend::cpu, .in_time_window_ns = 0, .primitive_by_rings = {}});
    EXPECT_EQ(outcome.n_hits_unknown, 3U);
    EXPECT_EQ(outcome.n_hits_in_time, n_ring_hits);
    EXPECT_EQ(outcome.n_hits_out_of_time, 0U);
    EXPECT_EQ(rings[0].n_rings, 1);
}

/// A device that finds a ring of radius 1 mm in every event, or fails.
class FakeDevice final : public BatchFinder {
  public:
    explicit FakeDevice(int n_successes) : n_left_(n_successes) {}
    bool find(const HitsView& hits, EventRings* rings) noexcept override {
        EXPECT_EQ(hits.hit_offset, offset_) << "hits are not where the device reads them";
        for (std::uint32_t event = 0; event < hits.n_events; ++event) {
            rings[event] = {};
            rings[event].n_rings = 1;
            rings[event].ring[0] = {0, 0, 1, 3};
        }
        return n_left_-- > 0;
    }
    Room room() noexcept override { return {offset_, x_mm_, y_mm_}; }
    std::string_view device_name() const noexcept override { return "fake"; }

  private:
    int n_left_;
    std::uint32_t offset_[shape.max_events + 1]{};
    float x_mm_[shape.max_hits]{}, y_mm_[shape.max_hits]{};
};

DeciderConfig with_fake_device(int n_successes) {
    DeciderConfig config;
    config.make_device = [n_successes](const Placement&) { return std::make_unique<FakeDevice>(n_successes); };
    return config;
}

TEST_F(DeciderTest, ADeviceFindsTheRings) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    Decider decider(with_fake_device(1), two_circles(), shape);
    EXPECT_EQ(decider.device_name(), "fake");
    const auto outcome = decider.decide(batch, n_events, rings, primitive_id);
    EXPECT_EQ(outcome.device, Decider::Device::used);
    EXPECT_EQ(rings[0].ring[0].radius_mm, 1);
}

TEST_F(DeciderTest, WhereTheDeviceFailsTheProcessorFindsTheSameRings) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    add_hits(n_ring_hits, n_ring_hits, 0);
    end_event();
    Decider decider(with_fake_device(1), two_circles(), shape);
    decider.decide(batch, n_events, rings, primitive_id);
    for (int again = 0; again < 2; ++again) {
        const auto outcome = decider.decide(batch, n_events, rings, primitive_id);
        EXPECT_EQ(outcome.device, Decider::Device::failed);
        ASSERT_EQ(rings[0].n_rings, 1);
        EXPECT_NEAR(rings[0].ring[0].radius_mm, 150, 0.5);
        ASSERT_EQ(rings[1].n_rings, 1);
        EXPECT_NEAR(rings[1].ring[0].radius_mm, 120, 0.5);
    }
}

TEST_F(DeciderTest, ADeviceThatKnowsPositionsGetsIds) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    const auto positions = two_circles();
    Decider decider(with_device_by_ids(), positions, shape);
    ASSERT_EQ(decider.max_under_way(), 2U);
    ASSERT_TRUE(decider.can_send(n_events, Effort::full, nullptr));
    const bool is_on_device = decider.send(batch, n_events);
    EXPECT_TRUE(is_on_device);
    const auto outcome = decider.collect(batch, n_events, is_on_device, rings, primitive_id);
    EXPECT_EQ(outcome.device, Decider::Device::used);
    ASSERT_EQ(rings[0].n_rings, 1);
    EXPECT_EQ(rings[0].ring[0].x_mm, positions[0].x_mm);
    EXPECT_EQ(outcome.n_hits_in_time, n_ring_hits - 3);
    EXPECT_EQ(outcome.n_hits_unknown, 1U);
    EXPECT_EQ(outcome.n_hits_out_of_time, 2U);
    EXPECT_EQ(primitive_id[0], DeciderConfig{}.primitive_by_rings[1]);
}

/// If the device refuses or loses a batch, the processor does this one, and the device does the others.
TEST_F(DeciderTest, OfBatchesUnderWayTheProcessorDoesThoseThatTheDeviceFails) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    for (const auto& config : {with_device_by_ids(1, 100), with_device_by_ids(100, 1)}) {
        Decider decider(config, two_circles(), shape);
        const bool is_first_there = decider.send(batch, n_events), is_second_there = decider.send(batch, n_events);
        EXPECT_EQ(decider.collect(batch, n_events, is_first_there, rings, primitive_id).device, Decider::Device::used);
        EXPECT_EQ(rings[0].ring[0].radius_mm, 2);
        const auto outcome = decider.collect(batch, n_events, is_second_there, rings, primitive_id);
        EXPECT_EQ(outcome.device, Decider::Device::failed);
        EXPECT_EQ(outcome.n_hits_in_time, n_ring_hits);
        ASSERT_EQ(rings[0].n_rings, 1);
        EXPECT_NEAR(rings[0].ring[0].radius_mm, 150, 0.5);
    }
}

/// Cuts, quality and a cheaper finder need placed hits on this side.
TEST_F(DeciderTest, WhereHitsAreLookedAtHereNoneAreSent) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    Decider decider(with_device_by_ids(), two_circles(), shape);
    EventQuality quality[shape.max_events];
    EXPECT_FALSE(decider.can_send(n_events, Effort::full, quality));
    EXPECT_FALSE(decider.can_send(n_events, Effort::cheaper, nullptr));
    EXPECT_FALSE(decider.can_send(n_events, Effort::pass, nullptr));
    EXPECT_FALSE(decider.can_send(0, Effort::full, nullptr));
    DeciderConfig cut = with_device_by_ids();
    cut.min_assigned_hits = 3;
    EXPECT_FALSE(Decider(cut, two_circles(), shape).can_send(n_events, Effort::full, nullptr));
    EXPECT_FALSE(Decider({}, two_circles(), shape).can_send(n_events, Effort::full, nullptr));
}

TEST_F(DeciderTest, AutoTakesTheDeviceOrSaysWhyNot) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    Decider decider({}, two_circles(), shape);
    EXPECT_EQ(decider.backend_note(), CudaRingFinder::unavailable_reason());
    EXPECT_EQ(decider.device_name().empty(), !decider.backend_note().empty());
    const auto outcome = decider.decide(batch, n_events, rings, primitive_id);
    EXPECT_EQ(outcome.device, decider.device_name().empty() ? Decider::Device::none : Decider::Device::used);
    EXPECT_NEAR(rings[0].ring[0].radius_mm, 150, 0.5);
}

TEST_F(DeciderTest, CudaWithoutADeviceIsRefusedWithTheReason) {
    const std::string reason = CudaRingFinder::unavailable_reason();
    if (reason.empty()) GTEST_SKIP() << "there is a device";
    DeciderConfig config;
    config.backend = Backend::cuda;
    try {
        Decider(config, two_circles(), shape);
        FAIL() << "no error";
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.field(), "trigger.backend");
        EXPECT_NE(error.given().find(reason), std::string::npos);
    }
}

TEST(Backend, NamesAreThoseOfTheConfiguration) {
    for (const Backend backend : {Backend::automatic, Backend::cpu, Backend::cuda})
        EXPECT_EQ(parse_backend(name_of(backend)), backend);
    EXPECT_THROW(parse_backend("gpu"), ConfigError);
}

/// An event with both rings: `single` finds at most one of them.
TEST_F(DeciderTest, WithLessEffortItFindsLessOrNothingAndSaysSo) {
    add_hits(0, 2 * n_ring_hits, 0);
    end_event();
    DeciderConfig config{.backend = Backend::cpu};
    config.deadline.pass_primitive = 0x1ff;
    Decider decider(config, two_circles(), shape);
    const auto full = decider.decide(batch, n_events, rings, primitive_id);
    EXPECT_EQ(full.effort, Effort::full);
    EXPECT_EQ(rings[0].n_rings, 2);
    EXPECT_EQ(rings[0].flags, 0);
    const auto cheaper = decider.decide(batch, n_events, rings, primitive_id, Effort::cheaper);
    EXPECT_EQ(cheaper.effort, Effort::cheaper);
    EXPECT_LE(rings[0].n_rings, 1);
    EXPECT_EQ(rings[0].flags, found_cheaply);
    EXPECT_EQ(cheaper.n_hits_in_time, full.n_hits_in_time);
    const auto passed = decider.decide(batch, n_events, rings, primitive_id, Effort::pass);
    EXPECT_EQ(passed.effort, Effort::pass);
    EXPECT_EQ(rings[0].n_rings, 0);
    EXPECT_EQ(rings[0].flags, not_looked_at);
    EXPECT_EQ(primitive_id[0], 0x1ff);
    EXPECT_EQ(passed.n_hits_passed, 2 * n_ring_hits);
    EXPECT_EQ(passed.n_hits_in_time + passed.n_hits_out_of_time + passed.n_hits_unknown, 0U);
}

/// With the cheapest finder, events are decided as configured until they must pass.
TEST_F(DeciderTest, ACheapFinderHasNoCheaperOne) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    DeciderConfig config{.backend = Backend::cpu};
    config.finder.algorithm = Algorithm::single;
    Decider decider(config, two_circles(), shape);
    EXPECT_EQ(decider.decide(batch, n_events, rings, primitive_id, Effort::cheaper).effort, Effort::full);
    EXPECT_EQ(rings[0].flags, 0);
}

TEST(Deadline, TheOlderTheLessEffort) {
    const DeadlineConfig one_ms{.deadline_ns = 1'000'000};
    EXPECT_EQ(one_ms.effort(0), Effort::full);
    EXPECT_EQ(one_ms.effort(499'999), Effort::full);
    EXPECT_EQ(one_ms.effort(500'000), Effort::cheaper);
    EXPECT_EQ(one_ms.effort(749'999), Effort::cheaper);
    EXPECT_EQ(one_ms.effort(750'000), Effort::pass);
    EXPECT_EQ(DeadlineConfig{}.effort(3'600'000'000'000), Effort::full) << "there is none";
}

TEST_F(DeciderTest, AgeIsByThisMachinesClockAlone) {
    end_event();
    batch.sent_ns[0] = 1;
    batch.kernel_ns[0] = 5000;
    EXPECT_EQ(age_of(batch, 1, 7000), 2000);
    EXPECT_EQ(age_of(batch, 1, 4000), 0) << "the clock was set back";
    EXPECT_EQ(age_of(batch, 0, 7000), 0);
    batch.kernel_ns[0] = 0;
    EXPECT_EQ(age_of(batch, 1, 7000), 0) << "from a file: of unknown age";
}

TEST(DeciderConfig, RefusesWhatCannotBeMeant) {
    DeciderConfig config;
    config.deadline.cheaper_after = 0.8;
    EXPECT_THROW(config.validate(), ConfigError);
    config = {};
    config.deadline.pass_primitive = 0xff;
    EXPECT_THROW(config.validate(), ConfigError);
    config = {};
    config.in_time_window_ns = -1;
    EXPECT_THROW(config.validate(), ConfigError);
    config.in_time_window_ns = std::nanf("");
    EXPECT_THROW(config.validate(), ConfigError);
    config = {};
    config.primitive_by_rings[2] = 7;
    EXPECT_THROW(config.validate(), ConfigError);
}

}  // namespace
}  // namespace anello::rich::decider_test

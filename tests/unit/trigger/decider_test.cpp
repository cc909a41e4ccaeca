// SPDX-License-Identifier: Apache-2.0
#include "trigger/decider.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/errors.hpp"

namespace anello::trigger {
namespace {

constexpr build::BatchShape shape{.max_events = 8, .max_hits = 256};
constexpr std::uint32_t n_ring_hits = 16;

/// Hit ids 0..15 lie on a circle of 150 mm around (20, -10) mm, ids 16..31 on one of 120 mm around (-60, 40) mm.
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
    DeciderTest() : memory(build::batch_bytes(shape)), batch(build::columns_of(memory, shape)) {
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
    build::BatchColumns batch;
    std::uint32_t n_events = 0, n_hits = 0;
    EventRings rings[shape.max_events];
    std::uint16_t primitive_id[shape.max_events];
};

TEST_F(DeciderTest, FindsTheRingAndChoosesItsPrimitive) {
    add_hits(0, n_ring_hits, 0);
    end_event();
    end_event();  // no hits
    const auto outcome = decide({.finder = {}, .in_time_window_ns = 0, .primitive_by_rings = {0, 0x4001}});
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
    const auto outcome = decide({.finder = {}, .in_time_window_ns = 3, .primitive_by_rings = {}});
    EXPECT_EQ(outcome.n_hits_in_time, n_ring_hits);
    EXPECT_EQ(outcome.n_hits_out_of_time, n_ring_hits);
    ASSERT_EQ(rings[0].n_rings, 1);
    EXPECT_NEAR(rings[0].ring[0].radius_mm, 150, 0.5);
    decide({.finder = {}, .in_time_window_ns = 0, .primitive_by_rings = {}});
    EXPECT_EQ(rings[0].n_rings, 2);
}

TEST_F(DeciderTest, HitsWithoutAPositionAreLeftOutAndCounted) {
    add_hits(0, n_ring_hits, 0);
    add_hits(5000, 3, 0);
    end_event();
    const auto outcome = decide({.finder = {}, .in_time_window_ns = 0, .primitive_by_rings = {}});
    EXPECT_EQ(outcome.n_hits_unknown, 3U);
    EXPECT_EQ(outcome.n_hits_in_time, n_ring_hits);
    EXPECT_EQ(outcome.n_hits_out_of_time, 0U);
    EXPECT_EQ(rings[0].n_rings, 1);
}

TEST(DeciderConfig, RefusesWhatCannotBeMeant) {
    DeciderConfig config;
    config.in_time_window_ns = -1;
    EXPECT_THROW(config.validate(), ConfigError);
    config.in_time_window_ns = std::nanf("");
    EXPECT_THROW(config.validate(), ConfigError);
    config = {};
    config.primitive_by_rings[2] = 7;
    EXPECT_THROW(config.validate(), ConfigError);
}

}  // namespace
}  // namespace anello::trigger

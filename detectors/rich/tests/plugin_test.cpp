// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "rich/decide/decider.hpp"

namespace anello::rich::plugin_test {
namespace {

using testing::HasSubstr;

constexpr events::BatchShape shape{.max_events = 8, .max_hits = 256};

std::string plugin_path(const std::string& name) {
    return ANELLO_TEST_PLUGINS "/libplugin_" + name + ".so";
}

/// Positions of ids 0..11 on a circle of 150 mm around (20, -10) mm.
std::vector<HitPosition> circle() {
    std::vector<HitPosition> positions;
    for (int i = 0; i < 12; ++i)
        positions.push_back({static_cast<float>(20 + 150 * std::cos(i * M_PI / 6)),
                             static_cast<float>(-10 + 150 * std::sin(i * M_PI / 6))});
    return positions;
}

/// Three events: the whole circle with a hit out of time in the middle, no hits, three hits of the circle.
class PluginTest : public testing::Test {
  protected:
    PluginTest() : memory(events::batch_bytes(shape)), batch(events::columns_of(memory, shape)) {
        batch.hit_offset[0] = 0;
        add_hits(0, 6, 5);
        add_hits(0, 1, 3000);
        add_hits(6, 6, 5);
        batch.hit_offset[1] = batch.hit_offset[2] = n_hits;
        add_hits(0, 3, 0);
        batch.hit_offset[3] = n_hits;
    }
    void add_hits(std::uint16_t first_id, std::uint16_t n, std::int16_t time_fine) {
        for (std::uint16_t i = 0; i < n; ++i) {
            batch.hit_id[n_hits] = static_cast<std::uint16_t>(first_id + i);
            batch.hit_time_fine[n_hits++] = time_fine;
        }
    }
    Decider::Outcome decide(const std::string& name, const std::string& parameters) {
        DeciderConfig config;
        config.in_time_window_ns = 8;
        config.primitive_by_rings = {0x100, 0x101, 0x102};
        config.make_plugin = load_plugin({plugin_path(name), parameters});
        Decider decider(config, circle(), shape);
        return decider.decide(batch, n_events, rings, primitive_id);
    }

    std::vector<std::byte> memory;
    events::BatchColumns batch;
    std::uint32_t n_events = 3, n_hits = 0;
    EventRings rings[shape.max_events];
    std::uint16_t primitive_id[shape.max_events];
};

TEST_F(PluginTest, TheExampleFindsItsRingAndSendsNoOtherPrimitive) {
    const auto outcome = decide("single_ring_cut", "");
    EXPECT_EQ(outcome.n_hits_in_time, 15U);
    EXPECT_EQ(outcome.n_hits_out_of_time, 1U);
    ASSERT_EQ(rings[0].n_rings, 1);
    EXPECT_NEAR(rings[0].ring[0].x_mm, 20, 0.01);
    EXPECT_NEAR(rings[0].ring[0].y_mm, -10, 0.01);
    EXPECT_NEAR(rings[0].ring[0].radius_mm, 150, 0.01);
    EXPECT_EQ(rings[0].ring[0].n_hits, 12) << "hits out of time are not handed on";
    EXPECT_EQ(primitive_id[0], 0x101);
    for (int event : {1, 2}) {
        EXPECT_EQ(rings[event].n_rings, 0);
        EXPECT_EQ(primitive_id[event], 0) << "0x100 without the plugin's own choice";
    }
}

TEST_F(PluginTest, ParametersReachTheExample) {
    decide("single_ring_cut", "3");
    EXPECT_EQ(rings[2].n_rings, 1) << "three hits are enough now";
    decide("single_ring_cut", "4 11");
    EXPECT_EQ(rings[0].n_rings, 0) << "twelve hits are too many now";
    decide("single_ring_cut", "4 21 250");
    EXPECT_EQ(rings[0].n_rings, 0) << "300 mm are too wide now";
}

TEST_F(PluginTest, ValidDecisionsStayAsTheyAre) {
    const auto outcome = decide("faulty", "primitive");
    EXPECT_EQ(outcome.plugin.n_failed_batches + outcome.plugin.n_invalid_counts + outcome.plugin.n_invalid_rings +
                  outcome.plugin.n_invalid_primitives,
              0U);
    ASSERT_EQ(rings[1].n_rings, 2);
    EXPECT_EQ(rings[1].ring[1].x_mm, 2);
    EXPECT_EQ(rings[1].ring[1].n_hits, 0xFFFF) << "as many as a decision can tell";
    EXPECT_EQ(primitive_id[1], 0x777);
}

TEST_F(PluginTest, MoreRingsThanADecisionHoldsAreCut) {
    const auto outcome = decide("faulty", "many rings");
    EXPECT_EQ(outcome.plugin.n_invalid_counts, 3U);
    EXPECT_EQ(rings[0].n_rings, max_rings_per_event);
    EXPECT_EQ(rings[0].flags, rings_truncated);
    EXPECT_EQ(rings[0].ring[7].x_mm, 8);
}

TEST_F(PluginTest, RingsThatAreNoneAreLeftOut) {
    for (const char* fault : {"no number", "infinite", "inside out"}) {
        SCOPED_TRACE(fault);
        const auto outcome = decide("faulty", fault);
        EXPECT_EQ(outcome.plugin.n_invalid_rings, 3U);
        ASSERT_EQ(rings[0].n_rings, 1);
        EXPECT_EQ(rings[0].ring[0].x_mm, 2) << "the second one is right";
        EXPECT_EQ(primitive_id[0], 0x101);
    }
}

TEST_F(PluginTest, APrimitiveThatIsNoneIsChosenByTheNumberOfRings) {
    for (const char* fault : {"timestamp", "17 bits"}) {
        SCOPED_TRACE(fault);
        EXPECT_EQ(decide("faulty", fault).plugin.n_invalid_primitives, 3U);
        EXPECT_EQ(primitive_id[0], 0x102);
    }
}

TEST_F(PluginTest, AFailedBatchHasNoRings) {
    for (const char* fault : {"fail", "throw"}) {
        SCOPED_TRACE(fault);
        EXPECT_EQ(decide("faulty", fault).plugin.n_failed_batches, 1U);
        for (std::uint32_t event = 0; event < n_events; ++event) {
            EXPECT_EQ(rings[event].n_rings, 0);
            EXPECT_EQ(primitive_id[event], 0x100);
        }
    }
}

/// A plugin that claims rings and writes none.
class SilentPlugin final : public Plugin {
  public:
    bool decide(const anello_trigger_batch& batch, anello_trigger_decisions& out) noexcept override {
        const bool first = n_calls_++ == 0;
        for (std::uint32_t event = 0; event < batch.n_events; ++event) {
            out.n_rings[event] = 1;
            if (first) out.ring[event * ANELLO_MAX_RINGS] = {1, 2, 150, 9};
        }
        return true;
    }

  private:
    int n_calls_ = 0;
};

TEST_F(PluginTest, RingsOfAnEarlierBatchDoNotShineThrough) {
    DeciderConfig config;
    config.make_plugin = [] { return std::make_unique<SilentPlugin>(); };
    Decider decider(config, circle(), shape);
    EXPECT_EQ(decider.decide(batch, n_events, rings, primitive_id).plugin.n_invalid_rings, 0U);
    EXPECT_EQ(rings[2].n_rings, 1);
    EXPECT_EQ(decider.decide(batch, n_events, rings, primitive_id).plugin.n_invalid_rings, 3U);
    EXPECT_EQ(rings[2].n_rings, 0);
}

struct Wrong {
    std::string path, parameters, words;
};

class WrongPlugin : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPlugin, IsNamedAtSetUp) {
    const auto& [path, parameters, words] = GetParam();
    try {
        load_plugin({path, parameters})();
        FAIL() << "was taken";
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.field(), HasSubstr("trigger.plugin"));
        EXPECT_THAT(error.what(), HasSubstr(words));
        EXPECT_FALSE(error.remedy().empty());
    }
}

INSTANTIATE_TEST_SUITE_P(
    Plugins, WrongPlugin,
    testing::Values(Wrong{"nowhere/lib.so", "", "no such file"}, Wrong{ANELLO_SOURCE_DIR, "", "no such file"},
                    Wrong{ANELLO_SOURCE_DIR "/LICENSE", "", "invalid ELF header"},
                    Wrong{plugin_path("outdated"), "", "version 2"},
                    Wrong{plugin_path("unfinished"), "", "must have the function anello_trigger_decide"},
                    Wrong{plugin_path("faulty"), "refuse", "Refusing is all it can."},
                    Wrong{plugin_path("faulty"), "refuse silently", "without a reason"},
                    Wrong{plugin_path("single_ring_cut"), "two", "such as: 4 21 400"}),
    [](const auto& wrong) {
        return "number" + std::to_string(wrong.index);
    });  // without names ctest would print the strings' addresses

}  // namespace
}  // namespace anello::rich::plugin_test

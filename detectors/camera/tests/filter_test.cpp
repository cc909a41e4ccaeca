// SPDX-License-Identifier: Apache-2.0
#include "camera/filter/filter.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "camera/tests/camera_event.hpp"
#include "core/errors.hpp"

namespace anello::camera::filter_test {
namespace {

constexpr test::CameraLayout layout{.n_boards = 19, .boards_per_group = 19};

/// A filter over 19 boards, and events of which only the charges are made.
class Camera : public testing::Test {
  protected:
    CameraFilter filter(const FilterConfig& config) { return {config, geometry, page}; }
    /// A pixel with six neighbours, and these.
    std::vector<std::uint32_t> flower(std::uint32_t centre = 0) const {
        std::vector<std::uint32_t> pixels{centre};
        for (const std::uint32_t p : geometry.neighbours_of(centre)) pixels.push_back(p);
        return pixels;
    }
    void light(std::initializer_list<std::uint32_t> pixels, float each) {
        std::fill(charge.begin(), charge.end(), 0.0F);
        for (const std::uint32_t p : pixels) charge[p] = each;
    }
    PixelView pixels() const { return {charge, peak, flags, 0, 0}; }
    Verdict decide(CameraFilter& by, std::uint32_t event_number = 1) {
        return by.decide(test::CameraEvent(layout, event_number).view(), pixels());
    }

    CameraGeometry geometry = make_camera_geometry(19);
    std::vector<float> charge = std::vector<float>(geometry.n_pixels());
    std::vector<std::uint16_t> peak = std::vector<std::uint16_t>(geometry.n_pixels());
    std::vector<std::uint8_t> flags = std::vector<std::uint8_t>(geometry.n_pixels());
    CounterPage page;
};

TEST_F(Camera, KeepsWhatHasChargeAndNeighbours) {
    CameraFilter three = filter({.pixel_threshold = 10, .charge_threshold = 60, .neighbours = 3});
    const auto around = flower();
    light({around[0], around[1], around[2]}, 20.0F);
    const Verdict verdict = decide(three);
    EXPECT_EQ(verdict.kept_by, KeptBy::signal);
    EXPECT_EQ(verdict.charge_sum, 60.0F);
    EXPECT_EQ(verdict.n_pixels_above, 3);
    EXPECT_EQ(verdict.multiplicity, 3);
    light({around[0], around[1], around[2]}, 19.9F);
    EXPECT_EQ(decide(three).kept_by, KeptBy::nothing) << "too little charge";
    light({around[0], around[1]}, 100.0F);
    EXPECT_EQ(decide(three).kept_by, KeptBy::nothing) << "too few neighbours";
    EXPECT_EQ(three.counters()[FilterCounter::events_in], 3U);
    EXPECT_EQ(three.counters()[FilterCounter::kept_by_signal], 1U);
    EXPECT_EQ(three.counters()[FilterCounter::rejected_no_signal], 2U);
}

TEST_F(Camera, PixelsThatDoNotTouchAreNoNeighbours) {
    CameraFilter pair = filter({.pixel_threshold = 10, .charge_threshold = 0, .neighbours = 2});
    const auto around = flower();
    light({around[1], around[3], around[5]}, 100.0F);  // every other one of a ring
    EXPECT_EQ(decide(pair).multiplicity, 1);
    EXPECT_FALSE(decide(pair).is_kept());
    light({around[1], around[2]}, 100.0F);
    EXPECT_EQ(decide(pair).kept_by, KeptBy::signal);
}

/// The mean of a chain's three pixels touches both others, so that three is reached only there.
TEST_F(Camera, MultiplicityCountsAPixelAndThoseThatTouchIt) {
    CameraFilter any = filter({.pixel_threshold = 10, .charge_threshold = 0, .neighbours = 1});
    const auto around = flower();
    std::fill(charge.begin(), charge.end(), 50.0F);
    EXPECT_EQ(decide(any).multiplicity, 7);
    EXPECT_EQ(decide(any).n_pixels_above, geometry.n_pixels());
    light({around[1], around[0], around[4]}, 50.0F);  // a straight line
    EXPECT_EQ(decide(any).multiplicity, 3);
    light({}, 0.0F);
    EXPECT_EQ(decide(any).multiplicity, 0);
    EXPECT_FALSE(decide(any).is_kept()) << "one pixel at least";
}

TEST_F(Camera, PrescaleKeepsEachNthOfTheRejected) {
    CameraFilter prescaled = filter({.prescale = 10});
    std::uint32_t n_kept = 0;
    for (std::uint32_t e = 0; e < 105; ++e) n_kept += decide(prescaled, e).kept_by == KeptBy::prescale;
    EXPECT_EQ(n_kept, 10U);
    EXPECT_EQ(prescaled.counters()[FilterCounter::kept_by_prescale], 10U);
    EXPECT_EQ(prescaled.counters()[FilterCounter::events_rejected], 95U);
    CameraFilter all = filter({.prescale = 1});
    EXPECT_EQ(decide(all).kept_by, KeptBy::prescale);
}

TEST_F(Camera, AFractionIsDrawnByEventNumberAlone) {
    CameraFilter one = filter({.fraction = 0.2}), other = filter({.fraction = 0.2, .seed = 2});
    CameraFilter more = filter({.fraction = 0.4}), again = filter({.fraction = 0.2});
    constexpr std::uint32_t n = 4000;
    std::uint32_t n_one = 0, n_both = 0;
    for (std::uint32_t e = 0; e < n; ++e) {
        const bool kept = decide(one, e).kept_by == KeptBy::fraction;
        n_one += kept;
        n_both += kept && decide(other, e).is_kept();
        EXPECT_EQ(decide(again, e).is_kept(), kept);
        if (kept) {
            EXPECT_TRUE(decide(more, e).is_kept()) << "a greater fraction holds the smaller one";
        }
    }
    const double sigma = std::sqrt(n * 0.2 * 0.8);
    EXPECT_NEAR(n_one, n * 0.2, 5 * sigma);
    EXPECT_NEAR(n_both, n * 0.04, 5 * std::sqrt(n * 0.04)) << "another seed draws others";
    CameraFilter none = filter({.fraction = 0}), all = filter({.fraction = 1});
    EXPECT_FALSE(decide(none).is_kept());
    EXPECT_TRUE(decide(all).is_kept());
}

TEST_F(Camera, IncompleteEventsGoByThePolicy) {
    test::CameraEvent event(layout);
    event.remove(18);
    const auto around = flower();
    light({around[0], around[1], around[2]}, 1000.0F);
    CameraFilter judge = filter({}), keep = filter({.incomplete = IncompletePolicy::keep});
    CameraFilter reject = filter({.incomplete = IncompletePolicy::reject});
    EXPECT_EQ(judge.decide(event.view(), pixels()).kept_by, KeptBy::signal);
    EXPECT_EQ(keep.decide(event.view(), pixels()).kept_by, KeptBy::incomplete);
    EXPECT_EQ(reject.decide(event.view(), pixels()).kept_by, KeptBy::nothing);
    EXPECT_EQ(keep.counters()[FilterCounter::kept_incomplete], 1U);
    EXPECT_EQ(reject.counters()[FilterCounter::rejected_incomplete], 1U);
    EXPECT_EQ(reject.counters()[FilterCounter::rejected_no_signal], 0U);
    EXPECT_TRUE(decide(reject).is_kept()) << "a complete event is judged";
    EXPECT_EQ(parse_word<IncompletePolicy>("reject", {}), IncompletePolicy::reject);
    EXPECT_THROW(parse_word<IncompletePolicy>("drop", {}), ConfigError);
}

TEST_F(Camera, EventsOfACalibrationAreKeptByTheirTag) {
    const auto kept = [&](std::uint8_t tag, const FilterConfig& config) {
        CameraFilter by = filter(config);
        test::CameraEvent event(layout, 1);
        event.set_trigger_tag(tag);
        const KeptBy reason = by.decide(event.view(), pixels()).kept_by;
        EXPECT_EQ(by.counters()[FilterCounter::kept_calibration], reason == KeptBy::calibration ? 1U : 0U);
        return reason;
    };
    using namespace wire::camera;
    for (const int tag : {+tag_pedestal, +tag_calibration, tag_calibration | tag_mono, +tag_single_pe}) {
        EXPECT_EQ(kept(static_cast<std::uint8_t>(tag), {}), KeptBy::calibration) << tag;
        EXPECT_EQ(kept(static_cast<std::uint8_t>(tag), {.keep_calibration = false}), KeptBy::nothing) << tag;
    }
    for (const int tag : {0, +tag_mono, +tag_stereo, tag_pedestal | tag_mono, tag_calibration | tag_stereo})
        EXPECT_EQ(kept(static_cast<std::uint8_t>(tag), {}), KeptBy::nothing) << "a shower: " << tag;
}

TEST_F(Camera, SwitchedOffItKeepsEverything) {
    CameraFilter off = filter({.enabled = false, .incomplete = IncompletePolicy::reject});
    test::CameraEvent event(layout);
    event.remove(0);
    EXPECT_EQ(off.decide(event.view(), pixels()).kept_by, KeptBy::no_filter);
    EXPECT_EQ(off.counters()[FilterCounter::kept_unfiltered], 1U);
}

TEST_F(Camera, SeesAShowerInWaveformsAndNoneInNoise) {
    PixelIntegrator integrator({.n_boards = layout.n_boards});
    CameraFilter above_the_sky = filter({.pixel_threshold = 250, .charge_threshold = 1500});
    source::Random random(3);
    std::uint32_t n_found = 0, n_false = 0;
    for (std::uint32_t e = 0; e < 40; ++e) {
        test::CameraEvent event(layout, e);
        const bool has_shower = e % 2 == 0;
        test::fill_waveforms(event, random, 4, [&](std::uint32_t p) { return has_shower && p < 14 ? 15.0 : 0.0; });
        const bool kept = above_the_sky.decide(event.view(), integrator.integrate(event.view())).is_kept();
        (has_shower ? n_found : n_false) += kept;
    }
    EXPECT_EQ(n_found, 20U);
    EXPECT_LE(n_false, 4U);
}

TEST_F(Camera, TheLedgerBalances) {
    CameraFilter mixed = filter({.prescale = 3, .fraction = 0.3, .incomplete = IncompletePolicy::reject});
    const auto around = flower();
    for (std::uint32_t e = 0; e < 200; ++e) {
        test::CameraEvent event(layout, e);
        if (e % 7 == 0) event.remove(3);
        light({around[0], around[1], around[2]}, e % 2 == 0 ? 600.0F : 20.0F);
        mixed.decide(event.view(), {charge, peak, flags, 19 - event.view().n_present, 0});
    }
    const auto& c = mixed.counters();
    using enum FilterCounter;
    EXPECT_EQ(c[events_in], c[events_kept] + c[events_rejected]);
    EXPECT_EQ(c[events_kept], c[kept_unfiltered] + c[kept_by_signal] + c[kept_by_fraction] + c[kept_by_prescale] +
                                  c[kept_incomplete] + c[kept_calibration]);
    EXPECT_EQ(c[events_rejected], c[rejected_no_signal] + c[rejected_incomplete]);
    EXPECT_EQ(c[boards_missing], 29U);
    for (const auto counter : {kept_by_signal, kept_by_fraction, kept_by_prescale, rejected_no_signal})
        EXPECT_GT(c[counter], 0U);
}

TEST_F(Camera, RefusesWhatCannotBeMeant) {
    EXPECT_THROW(filter({.pixel_threshold = 0}), ConfigError);
    EXPECT_THROW(filter({.charge_threshold = -1}), ConfigError);
    EXPECT_THROW(filter({.neighbours = 0}), ConfigError);
    EXPECT_THROW(filter({.neighbours = 8}), ConfigError);
    EXPECT_THROW(filter({.fraction = 1.1}), ConfigError);
    EXPECT_THROW(filter({.fraction = std::nan("")}), ConfigError);
}

}  // namespace
}  // namespace anello::camera::filter_test

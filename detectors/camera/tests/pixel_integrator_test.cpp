// SPDX-License-Identifier: Apache-2.0
#include "camera/filter/pixel_integrator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "camera/events/builder/slot.hpp"
#include "camera/tests/camera_event.hpp"
#include "core/errors.hpp"

namespace anello::camera {
namespace {

constexpr test::CameraLayout three_boards{.n_boards = 3, .boards_per_group = 2};

/// All waveforms flat at 200.
test::CameraEvent flat_event(const test::CameraLayout& layout = three_boards) {
    test::CameraEvent event(layout);
    for (std::uint32_t board = 0; board < layout.n_boards; ++board)
        for (std::uint32_t gain = 0; gain < layout.n_gains; ++gain)
            for (std::uint32_t pixel = 0; pixel < layout.n_pixels; ++pixel)
                for (std::uint32_t s = 0; s < layout.n_samples; ++s) event.set_sample(board, gain, pixel, s, 200);
    return event;
}

TEST(PixelIntegrator, AFlatWaveformHasNoChargeAndItsPeakAtTheFirstSum) {
    PixelIntegrator integrator({.n_boards = 3});
    const test::CameraEvent event = flat_event();
    const PixelView pixels = integrator.integrate(event.view());
    ASSERT_EQ(pixels.charge.size(), 21U);
    EXPECT_THAT(pixels.charge, testing::Each(0.0F));
    EXPECT_THAT(pixels.peak_sample, testing::Each(1));
    EXPECT_THAT(pixels.flags, testing::Each(0));
    EXPECT_EQ(pixels.n_boards_missing + pixels.n_boards_wrong_shape, 0U);
}

TEST(PixelIntegrator, FirstCellsAreNoSamples) {
    PixelIntegrator integrator({.n_boards = 3});
    test::CameraEvent event = flat_event();
    for (std::uint32_t board = 0; board < 3; ++board)
        event.add_first_cells(board, {4095, 4095, 4095, 4095, 4095, 4095, 4095, 4095});
    event.set_sample(1, 0, 6, 30, 300);
    const PixelView pixels = integrator.integrate(event.view());
    EXPECT_EQ(pixels.n_boards_missing + pixels.n_boards_wrong_shape, 0U);
    EXPECT_FLOAT_EQ(pixels.charge[13], 100);
    EXPECT_FLOAT_EQ(pixels.charge[20], 0);
    event.reshape(1, 60, 7, 2, 1680 + wire::camera::first_cells_bytes);  // as long, but not of a board that has them
    EXPECT_EQ(integrator.integrate(event.view()).n_boards_wrong_shape, 1U);
}

TEST(PixelIntegrator, ChargeIsTheWindowAroundThePeakLessThePedestal) {
    PixelIntegrator integrator({.n_boards = 3, .window_samples = 8, .window_before = 3});
    test::CameraEvent event = flat_event();
    event.set_sample(1, 0, 4, 29, 210);
    event.set_sample(1, 0, 4, 30, 250);
    event.set_sample(1, 0, 4, 31, 230);
    event.set_sample(1, 0, 4, 34, 203);  // last of the window 27..34
    event.set_sample(1, 0, 4, 35, 209);  // outside
    const PixelView pixels = integrator.integrate(event.view());
    EXPECT_EQ(pixels.peak_sample[11], 30);
    EXPECT_EQ(pixels.charge[11], 10.0F + 50.0F + 30.0F + 3.0F);
    EXPECT_EQ(pixels.charge[10], 0.0F);
}

/// A low gain that was scaled up has samples beyond a third of 16 bits.
TEST(PixelIntegrator, ThePeakOfABrightPulseIsItsOwn) {
    for (const Isa isa : {Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512}) {
        if (!is_available(isa)) continue;
        PixelIntegrator integrator(
            {.n_boards = 3, .window_samples = 8, .window_before = 3, .saturation = 65535, .isa = isa});
        test::CameraEvent event = flat_event();
        for (std::uint32_t s = 26; s < 38; ++s) event.set_sample(0, 0, 0, s, 22000);
        event.set_sample(0, 0, 0, 34, 65534);
        event.set_sample(0, 0, 0, 35, 22001);  // so that 33, 34, 35 have the greatest sum, not 32, 33, 34
        event.set_sample(0, 0, 0, 36, 21000);
        const PixelView pixels = integrator.integrate(event.view());
        EXPECT_EQ(pixels.peak_sample[0], 34) << name_of(isa);
        EXPECT_EQ(pixels.charge[0], 4.0F * 22000 + 65534 + 22001 + 21000 + 200 - 8 * 200) << name_of(isa);
    }
}

TEST(PixelIntegrator, TheWindowStaysInsideTheWaveform) {
    PixelIntegrator integrator({.n_boards = 3, .n_pedestal = 4, .window_samples = 8, .window_before = 3});
    test::CameraEvent event = flat_event();
    for (std::uint32_t s = 50; s < 60; ++s) event.set_sample(0, 0, 0, s, static_cast<std::uint16_t>(200 + s));
    event.set_sample(0, 0, 1, 0, 300);
    const PixelView pixels = integrator.integrate(event.view());
    EXPECT_EQ(pixels.peak_sample[0], 58);
    EXPECT_EQ(pixels.charge[0], 52.0F + 53 + 54 + 55 + 56 + 57 + 58 + 59);
    EXPECT_EQ(pixels.peak_sample[1], 1);
    EXPECT_EQ(pixels.charge[1], 100.0F - 8 * 25.0F);
}

TEST(PixelIntegrator, ASaturatedHighGainYieldsToTheLowGain) {
    PixelIntegrator integrator({.n_boards = 3, .saturation = 4000, .gain_ratio = 10});
    test::CameraEvent event = flat_event();
    event.set_sample(2, 0, 6, 20, 3999);
    event.set_sample(2, 0, 5, 59, 4000);
    event.set_sample(2, 1, 5, 40, 260);
    const PixelView pixels = integrator.integrate(event.view());
    EXPECT_EQ(pixels.flags[20], 0);
    EXPECT_EQ(pixels.charge[20], 3799.0F);
    EXPECT_EQ(pixels.flags[19], pixel_low_gain);
    EXPECT_EQ(pixels.peak_sample[19], 39);  // the first sum that holds sample 40
    EXPECT_EQ(pixels.charge[19], 600.0F);
}

TEST(PixelIntegrator, OfOneGainThatTheFrontEndChoseTheLowOneIsMultiplied) {
    PixelIntegrator integrator({.n_boards = 3, .saturation = 4000, .gain_ratio = 10});
    test::CameraEvent event = flat_event();
    for (const std::uint32_t pixel : {4U, 5U}) event.set_sample(2, 0, pixel, 40, 260);
    event.set_sample(2, 0, 6, 20, 4000);  // saturated, and there is no other gain
    event.select_gain(2, 0b0100000);
    const PixelView pixels = integrator.integrate(event.view());
    EXPECT_EQ(pixels.n_boards_wrong_shape, 0U);
    EXPECT_EQ(pixels.charge[18], 60.0F);
    EXPECT_EQ(pixels.flags[18], 0);
    EXPECT_EQ(pixels.charge[19], 600.0F);
    EXPECT_EQ(pixels.flags[19], pixel_low_gain);
    EXPECT_EQ(pixels.charge[20], 3800.0F);
    EXPECT_EQ(pixels.flags[20], 0);
    mark_calibrated(event.slot(2), 2 | 16);
    EXPECT_EQ(integrator.integrate(event.view()).charge[19], 60.0F) << "in counts of the high gain already";
}

TEST(PixelIntegrator, SaturationIsSeenInEverySample) {
    for (const Isa isa : {Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512}) {
        if (!is_available(isa)) continue;
        PixelIntegrator integrator({.n_boards = 3, .isa = isa});
        for (std::uint32_t s = 0; s < 60; ++s) {
            test::CameraEvent event = flat_event();
            event.set_sample(1, 0, 2, s, 4000);
            EXPECT_EQ(integrator.integrate(event.view()).flags[9], pixel_low_gain) << s << ", " << name_of(isa);
        }
    }
}

TEST(PixelIntegrator, WithOneGainNothingElseIsAsked) {
    PixelIntegrator integrator({.n_boards = 3, .n_gains = 1});
    test::CameraEvent event = flat_event({.n_boards = 3, .n_gains = 1});
    event.set_sample(2, 0, 6, 20, 4095);
    const PixelView pixels = integrator.integrate(event.view());
    EXPECT_EQ(pixels.flags[20], 0);
    EXPECT_EQ(pixels.charge[20], 3895.0F);
}

TEST(PixelIntegrator, MissingAndMisshapenBoardsAreFlaggedAndEmpty) {
    PixelIntegrator integrator({.n_boards = 4});
    test::CameraEvent event(three_boards);
    source::Random random(1);
    test::fill_waveforms(event, random, 3, [](std::uint32_t) { return 10.0; });
    ASSERT_GT(integrator.integrate(event.view()).charge[7], 0.0F);
    event.remove(0);
    event.reshape(1, 40, 7, 2, 1120);
    const PixelView pixels = integrator.integrate(event.view());
    for (std::size_t p = 0; p < 28; ++p) {
        const int expected = p / 7 == 0 || p / 7 == 3 ? pixel_missing : p / 7 == 1 ? pixel_wrong_shape : 0;
        EXPECT_EQ(pixels.flags[p], expected) << p;
        EXPECT_EQ(pixels.charge[p] == 0.0F && pixels.peak_sample[p] == 0, expected != 0) << p;
    }
    EXPECT_EQ(pixels.n_boards_missing, 2U);  // the camera is configured larger than the event
    EXPECT_EQ(pixels.n_boards_wrong_shape, 1U);
}

TEST(PixelIntegrator, EveryFieldOfTheShapeCounts) {
    PixelIntegrator integrator({.n_boards = 3});
    for (const auto& [samples, pixels, gains, bytes] :
         {std::array<std::uint16_t, 4>{30, 14, 2, 1680}, {30, 7, 4, 1680}, {0, 7, 2, 1680}, {60, 7, 1, 840}}) {
        test::CameraEvent event = flat_event();
        event.reshape(1, samples, static_cast<std::uint8_t>(pixels), static_cast<std::uint8_t>(gains), bytes);
        EXPECT_EQ(integrator.integrate(event.view()).n_boards_wrong_shape, 1U);
    }
}

TEST(PixelIntegrator, ShortWaveformsTakeNarrowerRegisters) {
    EXPECT_EQ(PixelIntegrator({.n_samples = 9, .n_pedestal = 3}).isa(), Isa::scalar);
    EXPECT_EQ(PixelIntegrator({.n_samples = 10, .n_pedestal = 3}).isa(), Isa::sse42);
    EXPECT_EQ(PixelIntegrator({.isa = Isa::sse42}).isa(), Isa::sse42);
}

TEST(PixelIntegrator, RefusesWhatCannotBeIntegrated) {
    EXPECT_THROW(PixelIntegrator({.n_boards = 0}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.pixels_per_board = 0}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.n_gains = 3}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.n_samples = 0}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.n_pedestal = 61}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.n_samples = 1000, .n_pedestal = 129}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.window_samples = 61}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.window_samples = 8, .window_before = 8}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.gain_ratio = 0}), ConfigError);
    EXPECT_THROW(PixelIntegrator({.gain_ratio = std::nanf("")}), ConfigError);
}

}  // namespace
}  // namespace anello::camera

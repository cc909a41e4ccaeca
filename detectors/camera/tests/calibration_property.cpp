// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "camera/calibrate/calibration.hpp"
#include "source/random.hpp"

namespace anello::camera::calibration_property {
namespace {

CalibratedShape any_shape() {
    return {.n_boards = *rc::gen::inRange<std::uint32_t>(1, 3),
            .pixels_per_board = 7,
            .n_gains = *rc::gen::inRange<std::uint32_t>(1, 3),
            .n_samples = *rc::gen::element<std::uint32_t>(1, 2, 7, 40, 63, 1024)};
}

CalibrationCoefficients any_coefficients(const CalibratedShape& shape, source::Random& random) {
    CalibrationCoefficients made;
    made.laws = {{.scale_counts = 4096, .exponent = 4, .t0_ms = 30'000}};
    made.law_of_channel.resize(shape.n_channels());
    made.spike.assign(shape.n_channels(), {65534, -65534, 65534});
    for (std::size_t i = 0; i < shape.n_channels() * drs4_cells; ++i)
        made.baseline.push_back(static_cast<std::uint16_t>(random.below(65536)));
    for (std::size_t i = 0; i < shape.n_channels(); ++i)
        made.flatfield.push_back(static_cast<float>(random.uniform(0.001, 1000)));
    return made;
}

CameraCalibration::Steps any_steps(const CalibratedShape& shape, source::Random& random) {
    CameraCalibration::Steps steps;
    if (shape.n_gains == 2 && random.below(2) == 0) steps.gain_threshold = 1 + random.below(65535);
    steps.flatfield = random.below(2) == 0 && (shape.n_gains == 1 || steps.gain_threshold > 0);
    return steps;
}

/// Any cells and clocks: what lies around the samples stays, and a board whose cells do not exist stays as it was. The
/// sanitizers see each step outside of the tables.
RC_GTEST_PROP(CameraCalibrationProperty, AnyCellsAndClocksStayInBounds, ()) {
    const CalibratedShape shape = any_shape();
    source::Random random(*rc::gen::arbitrary<std::uint64_t>());
    CameraCalibration calibration(any_coefficients(shape, random), shape, any_steps(shape, random));
    const std::size_t n_samples = std::size_t{shape.n_gains} * 7 * shape.n_samples;
    const bool may_be_wrong = *rc::gen::arbitrary<bool>();
    for (int event = 0; event < 20; ++event) {
        const auto board = random.below(shape.n_boards);
        Drs4Readout readout{
            .first_cell = {},
            .clock_ticks = random.below(2) == 0 ? random.below(1000) : ~std::uint64_t{random.below(1000)}};
        for (auto& cell : readout.first_cell)
            cell = static_cast<std::uint16_t>(random.below(may_be_wrong ? 4400 : 4096));
        std::vector<std::uint16_t> memory(n_samples + 2, 0xabcd);
        for (std::size_t i = 1; i <= n_samples; ++i) memory[i] = static_cast<std::uint16_t>(random.below(65536));
        const std::vector<std::uint16_t> before = memory;
        calibration.prefetch(board, readout);
        std::uint16_t low_gain = 0;
        const Correction done =
            calibration.correct(board, random.below(2), reinterpret_cast<std::byte*>(&memory[1]), &readout, &low_gain);
        RC_ASSERT(low_gain < 128);
        bool exists = true;
        for (const auto cell : readout.first_cell) exists = exists && cell < 4096;
        RC_ASSERT(done == (exists ? Correction::done : Correction::wrong_cells));
        RC_ASSERT(memory.front() == 0xabcd);
        RC_ASSERT(memory.back() == 0xabcd);
        RC_ASSERT(exists || memory == before);
    }
    std::vector<std::uint16_t> memory(n_samples, 7);
    RC_ASSERT(calibration.correct(0, 0, reinterpret_cast<std::byte*>(memory.data()), nullptr) == Correction::no_cells);
    RC_ASSERT(memory == std::vector<std::uint16_t>(n_samples, 7));
}

/// Without earlier events, a sample is its counts above its cell's baseline, exactly rounded.
RC_GTEST_PROP(CameraCalibrationProperty, AFirstEventIsItsSamplesLessTheirBaselines, ()) {
    const CalibratedShape shape = any_shape();
    source::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const CalibrationCoefficients coefficients = any_coefficients(shape, random);
    CameraCalibration calibration(coefficients, shape, {});
    Drs4Readout readout{.first_cell = {}, .clock_ticks = random.below(1000)};
    for (auto& cell : readout.first_cell) cell = static_cast<std::uint16_t>(random.below(4096));
    std::vector<std::uint16_t> samples(std::size_t{shape.n_gains} * 7 * shape.n_samples);
    for (auto& sample : samples) sample = static_cast<std::uint16_t>(random.below(65536));
    const std::vector<std::uint16_t> raw = samples;
    calibration.correct(0, 0, reinterpret_cast<std::byte*>(samples.data()), &readout);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::size_t channel = i / shape.n_samples, sample = i % shape.n_samples;
        const std::size_t chip = 4 * (channel / 7) + channel % 7 / 2;
        const std::size_t cell = (readout.first_cell[chip] + sample) % 4096;
        const double wanted = raw[i] - coefficients.baseline[channel * 4096 + cell] / 16.0 + 400;
        RC_ASSERT(samples[i] == std::clamp(std::floor(wanted + 0.5), 0.0, 65535.0));
    }
}

}  // namespace
}  // namespace anello::camera::calibration_property

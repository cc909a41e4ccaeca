// SPDX-License-Identifier: Apache-2.0
#include "camera/calibrate/calibration.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "camera/calibrate/event_calibration.hpp"
#include "camera/events/builder/slot.hpp"
#include "camera/tests/calibration_reference.hpp"
#include "camera/tests/camera_event.hpp"
#include "camera/tests/fits_file.hpp"
#include "core/errors.hpp"
#include "source/random.hpp"

namespace anello::camera::calibration_test {
namespace {

constexpr CalibratedShape shape{.n_boards = 4, .pixels_per_board = 7, .n_gains = 2, .n_samples = 40};
constexpr std::size_t board_samples = 2 * 7 * 40;

CalibrationCoefficients any_coefficients(source::Random& random) {
    CalibrationCoefficients made;
    made.laws = {{}, {.scale_counts = 20, .exponent = 0.5, .t0_ms = 40}};
    for (std::size_t i = 0; i < shape.n_channels(); ++i) {
        for (std::size_t cell = 0; cell < drs4_cells; ++cell)
            made.baseline.push_back(static_cast<std::uint16_t>(16 * 300 + random.below(16 * 200)));
        const auto height = [&] { return static_cast<std::int32_t>(random.below(16 * 60)); };
        made.spike.push_back({height(), height(), height()});
        made.law_of_channel.push_back(static_cast<std::uint8_t>(i % 2));
    }
    return made;
}

/// Times from 0.1 ms to some time lapses apart; stop cells often where spikes fall into the window, or just read ones.
struct Readouts {
    explicit Readouts(source::Random& given) : random(given) {}
    const Drs4Readout& next() {
        last.clock_ticks += 15'000 + (random.below(4) == 0 ? random.below(20'000'000) : random.below(40'000));
        for (std::uint16_t& cell : last.first_cell) {
            const std::uint32_t end = (cell + 39U) % 1024, ring = 1024 * random.below(4);
            const std::uint32_t kind = random.below(5);
            if (kind == 0) cell = static_cast<std::uint16_t>((ring + 4096 + end - random.below(43)) % 4096);
            if (kind == 1) cell = static_cast<std::uint16_t>((ring + 8192 - end - random.below(43)) % 4096);
            if (kind == 2) cell = static_cast<std::uint16_t>((cell + random.below(60)) % 4096);
            if (kind == 3) cell = static_cast<std::uint16_t>(ring + 760 + random.below(264));
            if (kind == 4) cell = static_cast<std::uint16_t>(random.below(4096));
        }
        return last;
    }
    source::Random& random;
    Drs4Readout last{.first_cell = {}, .clock_ticks = 1'000'000};
};

std::vector<std::uint16_t> any_samples(source::Random& random, std::size_t n = board_samples) {
    std::vector<std::uint16_t> samples(n);
    for (auto& sample : samples) sample = static_cast<std::uint16_t>(random.below(3000));
    return samples;
}

std::byte* bytes_of(std::vector<std::uint16_t>& samples) {
    return reinterpret_cast<std::byte*>(samples.data());
}

TEST(CameraCalibration, EachSampleIsWhatTheDefinitionSays) {
    source::Random random(11);
    const CalibrationCoefficients coefficients = any_coefficients(random);
    CameraCalibration calibration(coefficients, shape, {});
    EXPECT_EQ(calibration.steps(), step_baseline | step_time_lapse | step_spikes);
    test::ReferenceBoard reference(coefficients, shape, 2);
    Readouts readouts(random);
    double largest = 0;
    for (int event = 0; event < 300; ++event) {
        const Drs4Readout& readout = readouts.next();
        std::vector<std::uint16_t> samples = any_samples(random);
        const std::vector<double> wanted = reference.correct(samples, readout);
        ASSERT_EQ(calibration.correct(2, 5, bytes_of(samples), &readout), Correction::done);
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const double difference = std::abs(samples[i] - std::clamp(wanted[i], 0.0, 65535.0));
            largest = std::max(largest, difference);
            ASSERT_LE(difference, 0.65) << "event " << event << ", sample " << i;
        }
    }
    EXPECT_GT(largest, 0.45) << "rounded, so that half a count is met";
}

TEST(CameraCalibration, StepsCanBeLeftOut) {
    source::Random random(12);
    CalibrationCoefficients coefficients = any_coefficients(random);
    CameraCalibration no_lapse(coefficients, shape, {.time_lapse = false}),
        no_spikes(coefficients, shape, {.spikes = false});
    EXPECT_EQ(no_lapse.steps(), step_baseline | step_spikes);
    EXPECT_EQ(no_spikes.steps(), step_baseline | step_time_lapse);
    CalibrationCoefficients without = coefficients;
    for (auto& law : without.laws) law.scale_counts = 0;
    test::ReferenceBoard reference(without, shape, 0);
    CalibrationCoefficients no_heights = coefficients;
    no_heights.spike.clear();
    EXPECT_EQ(CameraCalibration(no_heights, shape, {}).steps(), step_baseline | step_time_lapse);
    Readouts readouts(random);
    for (int event = 0; event < 50; ++event) {
        const Drs4Readout& readout = readouts.next();
        std::vector<std::uint16_t> samples = any_samples(random);
        const std::vector<double> wanted = reference.correct(samples, readout);
        no_lapse.correct(0, 5, bytes_of(samples), &readout);
        for (std::size_t i = 0; i < samples.size(); ++i)
            ASSERT_NEAR(samples[i], std::clamp(wanted[i], 0.0, 65535.0), 0.65);
    }
}

TEST(CameraCalibration, AnotherRunForgetsWhatWasBefore) {
    source::Random random(13);
    const CalibrationCoefficients coefficients = any_coefficients(random);
    CameraCalibration calibration(coefficients, shape, {});
    const Drs4Readout readout{.first_cell = {100, 100, 100, 100, 100, 100, 100, 100}, .clock_ticks = 1'000'000};
    std::vector<std::uint16_t> first = any_samples(random), again = first, later = first;
    calibration.correct(0, 1, bytes_of(first), &readout);
    calibration.correct(0, 2, bytes_of(again), &readout);
    EXPECT_EQ(first, again);
    Drs4Readout soon = readout;
    soon.clock_ticks += 13'333;  // 0.1 ms
    calibration.correct(0, 2, bytes_of(later), &soon);
    EXPECT_NE(first, later);
}

TEST(CameraCalibration, ResultsStayWithinTheirType) {
    CalibrationCoefficients coefficients;
    coefficients.laws.resize(1);
    coefficients.law_of_channel.resize(shape.n_channels());
    coefficients.baseline.assign(shape.n_channels() * drs4_cells, 16 * 1000);
    CameraCalibration calibration(coefficients, shape, {});
    std::vector<std::uint16_t> samples(board_samples, 0);
    samples[1] = 65535, samples[2] = 599, samples[3] = 600, samples[4] = 601;
    const Drs4Readout readout{.first_cell = {}, .clock_ticks = 5};
    calibration.correct(0, 1, bytes_of(samples), &readout);
    EXPECT_THAT(std::vector(samples.begin(), samples.begin() + 5), testing::ElementsAre(0, 64935, 0, 0, 1));
    CalibrationCoefficients none = coefficients;
    none.baseline.assign(none.baseline.size(), 0);
    CameraCalibration above(none, shape, {});
    samples[1] = 65400;
    above.correct(0, 1, bytes_of(samples), &readout);
    EXPECT_EQ(samples[1], 65535);
}

TEST(CameraCalibration, ThreadsWithTheirOwnBoardsDoAsOneDoes) {
    source::Random random(14);
    const CalibrationCoefficients coefficients = any_coefficients(random);
    CameraCalibration together(coefficients, shape, {}), alone(coefficients, shape, {});
    constexpr std::size_t n_events = 200;
    std::vector<std::vector<std::uint16_t>> samples;
    std::vector<Drs4Readout> readouts;
    Readouts source(random);
    for (std::size_t i = 0; i < n_events * shape.n_boards; ++i) {
        samples.push_back(any_samples(random));
        readouts.push_back(source.next());
    }
    auto sequential = samples;
    for (std::size_t i = 0; i < samples.size(); ++i)
        alone.correct(static_cast<std::uint32_t>(i % shape.n_boards), 1, bytes_of(sequential[i]), &readouts[i]);
    std::vector<std::thread> threads;
    for (std::uint32_t board = 0; board < shape.n_boards; ++board)
        threads.emplace_back([&, board] {
            for (std::size_t i = board; i < samples.size(); i += shape.n_boards)
                together.correct(board, 1, bytes_of(samples[i]), &readouts[i]);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(samples, sequential);
}

TEST(CameraCalibration, ACameraWithoutCellsHasPedestals) {
    constexpr CalibratedShape one_gain{.n_boards = 2, .pixels_per_board = 12, .n_gains = 1, .n_samples = 50};
    CalibrationCoefficients coefficients;
    coefficients.n_cells = 1;
    for (std::uint16_t i = 0; i < 24; ++i) coefficients.baseline.push_back(static_cast<std::uint16_t>(16 * 200 + i));
    CameraCalibration calibration(coefficients, one_gain, {});
    EXPECT_EQ(calibration.steps(), step_baseline);
    std::vector<std::uint16_t> samples(12 * 50, 300);
    EXPECT_EQ(calibration.correct(1, 1, bytes_of(samples), nullptr), Correction::done);
    for (std::size_t i = 0; i < samples.size(); ++i)
        EXPECT_EQ(samples[i], 12 + i / 50 <= 8 ? 500 : 499) << i;  // 500 - 12/16 and less
}

TEST(CameraCalibration, RefusesOtherShapes) {
    source::Random random(15);
    const auto refused = [&](CalibratedShape other) {
        EXPECT_THROW(CameraCalibration(any_coefficients(random), other, {}), ConfigError);
    };
    refused({.n_boards = 1, .pixels_per_board = 8, .n_gains = 2, .n_samples = 40});
    refused({.n_boards = 1, .pixels_per_board = 7, .n_gains = 3, .n_samples = 40});
    refused({.n_boards = 1, .pixels_per_board = 7, .n_gains = 2, .n_samples = 1025});
}

// --- Gain and flat field --------------------------------------------------------------------------------------------
/// By the definition: [pixel][sample] in counts of the high gain, 400 added, and whose low gain was taken.
struct Selected {
    std::vector<double> samples, factor;
    std::uint16_t low_gain = 0;
};

Selected select(const std::vector<double>& corrected, const std::vector<float>& factors, std::uint32_t board,
                double threshold) {
    Selected made;
    for (std::uint32_t pixel = 0; pixel < 7; ++pixel) {
        const auto high = corrected.begin() + pixel * 40;
        const bool is_low = *std::max_element(high, high + 40) - 400 > threshold;
        made.low_gain |= static_cast<std::uint16_t>(std::uint32_t{is_low} << pixel);
        const std::size_t gain = is_low ? 1 : 0;
        const double factor = factors.empty() ? (is_low ? 13 : 1) : double{factors[(board * 2 + gain) * 7 + pixel]};
        for (std::size_t i = 0; i < 40; ++i) {
            made.factor.push_back(factor);
            made.samples.push_back(
                std::clamp((corrected[(gain * 7 + pixel) * 40 + i] - 400) * factor + 400, 0., 65535.));
        }
    }
    return made;
}

class GainSelection : public testing::TestWithParam<bool> {};

TEST_P(GainSelection, EachSampleIsWhatTheDefinitionSays) {
    source::Random random(16);
    CalibrationCoefficients coefficients = any_coefficients(random);
    for (std::size_t i = 0; i < shape.n_channels(); ++i)
        coefficients.flatfield.push_back(
            static_cast<float>((i / 7 % 2 == 0 ? 1 : 13) * (0.8 + 0.4 * random.uniform())));
    constexpr std::uint32_t threshold = 2490;
    CameraCalibration calibration(coefficients, shape, {.flatfield = GetParam(), .gain_threshold = threshold});
    EXPECT_EQ(calibration.steps(),
              step_baseline | step_time_lapse | step_spikes | step_gain | (GetParam() ? step_flatfield : 0));
    test::ReferenceBoard reference(coefficients, shape, 2);
    Readouts readouts(random);
    std::array<int, 2> n_pixels{};
    for (int event = 0; event < 300; ++event) {
        const Drs4Readout& readout = readouts.next();
        std::vector<std::uint16_t> samples = any_samples(random);
        const Selected wanted = select(reference.correct(samples, readout),
                                       GetParam() ? coefficients.flatfield : std::vector<float>{}, 2, threshold);
        std::uint16_t low_gain = 77;
        ASSERT_EQ(calibration.correct(2, 5, bytes_of(samples), &readout, &low_gain), Correction::done);
        for (std::uint32_t pixel = 0; pixel < 7; ++pixel) {
            const bool is_low = (low_gain >> pixel & 1) != 0;
            if (is_low != ((wanted.low_gain >> pixel & 1) != 0)) continue;  // within the error of a baseline
            ++n_pixels[is_low ? 1 : 0];
            for (std::size_t i = pixel * 40; i < (pixel + 1) * 40; ++i)
                ASSERT_NEAR(samples[i], wanted.samples[i], 0.51 + 0.15 * wanted.factor[i]) << event << ", " << i;
        }
    }
    EXPECT_GT(n_pixels[0], 300);
    EXPECT_GT(n_pixels[1], 300);
    EXPECT_GT(n_pixels[0] + n_pixels[1], 2080) << "of 2100";
}

INSTANTIATE_TEST_SUITE_P(CameraCalibration, GainSelection, testing::Bool(),
                         [](const auto& one) { return one.param ? "with_flat_field" : "by_the_ratio"; });

TEST(CameraCalibration, AThresholdIsMetByMoreThanIt) {
    constexpr CalibratedShape two_samples{.n_boards = 1, .pixels_per_board = 2, .n_gains = 2, .n_samples = 2};
    CalibrationCoefficients coefficients;
    coefficients.n_cells = 1;
    coefficients.baseline.assign(4, 16 * 100);
    CameraCalibration calibration(coefficients, two_samples, {.gain_threshold = 50});
    std::vector<std::uint16_t> samples{150, 150, 149, 151, 101, 102, 103, 50};
    std::uint16_t low_gain = 0;
    calibration.correct(0, 1, bytes_of(samples), nullptr, &low_gain);
    EXPECT_EQ(low_gain, 2U);
    EXPECT_THAT(std::vector(samples.begin(), samples.begin() + 4), testing::ElementsAre(450, 450, 400 + 3 * 13, 0))
        << "50 below the baseline are 650 of the high gain's";
}

TEST(CameraCalibration, OneGainIsFlattenedWhereItStands) {
    constexpr CalibratedShape one_gain{.n_boards = 1, .pixels_per_board = 40, .n_gains = 1, .n_samples = 3};
    CalibrationCoefficients coefficients;
    coefficients.n_cells = 1;
    coefficients.baseline.assign(40, 16 * 100);
    for (int i = 0; i < 40; ++i) coefficients.flatfield.push_back(1 + 0.1F * static_cast<float>(i));
    CameraCalibration calibration(coefficients, one_gain, {.flatfield = true});
    EXPECT_EQ(calibration.steps(), step_baseline | step_flatfield);
    std::vector<std::uint16_t> samples(120, 200);
    calibration.correct(0, 1, bytes_of(samples), nullptr);
    EXPECT_EQ(samples.front(), 500);
    EXPECT_EQ(samples.back(), 890);
}

TEST(CameraCalibration, GainAndFlatFieldAreRefusedWhereTheyMeanNothing) {
    using Steps = CameraCalibration::Steps;
    const auto error = [](const CalibratedShape& camera, const Steps& steps, std::size_t n_factors = 0) {
        CalibrationCoefficients coefficients;
        coefficients.n_cells = 1;
        coefficients.baseline.assign(camera.n_channels(), 0);
        coefficients.flatfield.assign(n_factors, 1);
        try {
            CameraCalibration(coefficients, camera, steps);
        } catch (const ConfigError& refused) {
            return std::string(refused.what());
        }
        return std::string("nothing");
    };
    using testing::HasSubstr;
    EXPECT_EQ(error({1, 7, 2, 40}, {.gain_threshold = 1}), "nothing");
    EXPECT_THAT(error({1, 7, 1, 40}, {.gain_threshold = 1}), HasSubstr("one gain"));
    EXPECT_THAT(error({1, 17, 2, 40}, {.gain_threshold = 1}), HasSubstr("1 to 16"));
    EXPECT_THAT(error({1, 7, 2, 40}, {.flatfield = true, .gain_threshold = 1}), HasSubstr("has no flat field"));
    EXPECT_THAT(error({1, 7, 2, 40}, {.flatfield = true}, 14), HasSubstr("both gains are kept"));
    EXPECT_THAT(error({1, 7, 1, 1025}, {.flatfield = true}, 7), HasSubstr("1 to 1024"));
}

// --- Of whole events ----------------------------------------------------------------------------------------------
struct EventRig {
    explicit EventRig(const test::FitsFile& file, std::uint32_t gain_threshold = 0)
        : calibration({.file = file.path, .time_lapse_file = {}, .gain_threshold = gain_threshold}, {3, 7, 2, 40}, ids,
                      page) {}
    std::uint64_t count(CalibrateCounter counter) const { return calibration.counters()[counter]; }

    std::vector<std::uint32_t> ids = [] {
        std::vector<std::uint32_t> numbers(21);
        for (std::uint32_t i = 0; i < 21; ++i) numbers[i] = 20 - i;  // the file has the pixels the other way round
        return numbers;
    }();
    CounterPage page;
    EventCalibration calibration;
};

/// baseline_mean: 100 + pixel number in the high gain, 200 + in the low one.
test::FitsFile pedestals(std::uint32_t n_cells) {
    std::vector<float> values;
    for (std::uint32_t gain = 0; gain < 2; ++gain)
        for (std::uint32_t pixel = 0; pixel < 21; ++pixel)
            values.insert(values.end(), n_cells, static_cast<float>(100 + 100 * gain + pixel));
    return test::FitsFile({{"baseline_mean", {2, 21, n_cells}, values}});
}

TEST(EventCalibration, CorrectsBoardsByTheirPixelsNumbersAndCountsTheOthers) {
    const test::FitsFile file = pedestals(drs4_cells);
    EventRig rig(file);
    test::CameraEvent event({.n_boards = 3, .n_samples = 40, .boards_per_group = 3});
    for (std::uint32_t board = 0; board < 3; ++board) event.add_first_cells(board, {});
    for (std::uint32_t board = 0; board < 3; ++board)
        for (std::uint32_t gain = 0; gain < 2; ++gain)
            for (std::uint32_t pixel = 0; pixel < 7; ++pixel)
                for (std::uint32_t sample = 0; sample < 40; ++sample) event.set_sample(board, gain, pixel, sample, 500);
    event.remove(1);
    rig.calibration.correct(event.view());
    EXPECT_EQ(event.sample(0, 0, 0, 7), 500 - 120 + 400);
    EXPECT_EQ(event.sample(0, 1, 2, 39), 500 - 218 + 400);
    EXPECT_EQ(event.sample(2, 0, 6, 0), 500 - 100 + 400);
    EXPECT_EQ(event.sample(1, 0, 0, 0), 500) << "which was missing";
    EXPECT_EQ(rig.count(CalibrateCounter::events_in), 1U);
    EXPECT_EQ(rig.count(CalibrateCounter::boards_in), 2U);
    EXPECT_EQ(rig.count(CalibrateCounter::boards_calibrated), 2U);
    EXPECT_EQ(event.slot(0)[5], std::byte{8 + 16}) << "baseline and time lapse, no checksum";
    wire::camera::Header header;
    const auto datagram =
        std::span<const std::byte>(event.slot(0), wire::camera::header_bytes + event.layout().payload_bytes());
    EXPECT_NE(wire::camera::parse(datagram, header), wire::Verdict::ok) << "nobody takes it for what a board sent";
}

TEST(EventCalibration, LeavesOneGainAndFirstCellsBehindIt) {
    const test::FitsFile file = pedestals(drs4_cells);
    EventRig rig(file, 300);
    EXPECT_EQ(rig.calibration.describe(), "baseline, time lapse, gain selected");
    test::CameraEvent event({.n_boards = 3, .n_samples = 40, .boards_per_group = 3});
    const wire::camera::FirstCells cells{1, 2, 3, 4, 5, 6, 7, 4095};
    event.add_first_cells(0, cells);
    event.add_first_cells(2, cells);
    for (std::uint32_t board = 0; board < 3; ++board)
        for (std::uint32_t gain = 0; gain < 2; ++gain)
            for (std::uint32_t pixel = 0; pixel < 7; ++pixel)
                for (std::uint32_t i = 0; i < 40; ++i) event.set_sample(board, gain, pixel, i, gain == 0 ? 200 : 250);
    event.set_sample(0, 0, 3, 20, 3000);
    event.set_sample(0, 0, 6, 0, 3000);
    const std::vector<std::byte> raw(event.slot(1), event.slot(2));
    rig.calibration.correct(event.view());
    const CameraWaveforms left = waveforms_in(event.slot(0));
    EXPECT_EQ(left.n_gains, 1);
    EXPECT_EQ(left.payload_bytes, 7 * 40 * 2 + 16);
    EXPECT_EQ(first_cells_in(event.slot(0)), cells);
    EXPECT_EQ(low_gain_in(event.slot(0)), 1U << 3 | 1U << 6);
    EXPECT_EQ(event.slot(0)[5], std::byte{8 + 16 + 64});
    EXPECT_EQ(event.sample(0, 0, 0, 7), 200 - 120 + 400);
    EXPECT_EQ(event.sample(0, 0, 3, 7), 13 * (250 - 217) + 400);
    EXPECT_EQ(low_gain_in(event.slot(2)), 0);
    EXPECT_TRUE(std::equal(raw.begin(), raw.end(), event.slot(1))) << "it sent no cells";
    EXPECT_EQ(rig.count(CalibrateCounter::boards_calibrated), 2U);
    EXPECT_EQ(rig.count(CalibrateCounter::boards_without_cells), 1U);
}

TEST(EventCalibration, LeavesBoardsAsTheyAreThatTellNoCells) {
    const test::FitsFile file = pedestals(drs4_cells);
    EventRig rig(file);
    test::CameraEvent event({.n_boards = 3, .n_samples = 40, .boards_per_group = 3});
    event.set_sample(1, 0, 0, 0, 321);
    event.reshape(2, 10, 7, 2, 280);
    const std::byte flags = event.slot(1)[5];
    rig.calibration.correct(event.view());
    EXPECT_EQ(event.sample(1, 0, 0, 0), 321);
    EXPECT_EQ(event.slot(1)[5], flags);
    EXPECT_EQ(rig.count(CalibrateCounter::boards_without_cells), 2U);
    EXPECT_EQ(rig.count(CalibrateCounter::boards_other_shape), 1U);
    EXPECT_EQ(rig.count(CalibrateCounter::boards_calibrated), 0U);
    const test::FitsFile of_pixels = pedestals(1);
    EventRig simple(of_pixels);
    simple.calibration.correct(event.view());
    EXPECT_EQ(event.sample(1, 0, 0, 0), 321 - 113 + 400);
    EXPECT_EQ(simple.calibration.describe(), "baseline");
}

TEST(EventCalibration, SaysWhatIsWrongWithAFile) {
    const auto error = [](const std::string& path, const std::string& laws = {}) {
        CounterPage page;
        std::vector<std::uint32_t> ids(21);
        for (std::uint32_t i = 0; i < 21; ++i) ids[i] = i;
        try {
            EventCalibration({.file = path, .time_lapse_file = laws}, {3, 7, 2, 40}, ids, page);
        } catch (const ConfigError& refused) {
            return std::string(refused.what());
        }
        return std::string("nothing");
    };
    using testing::HasSubstr;
    const test::FitsFile good = pedestals(1);
    EXPECT_EQ(error(good.path), "nothing");
    EXPECT_THAT(error("nowhere.fits"), HasSubstr("No such file"));
    EXPECT_THAT(error(test::FitsFile({{"other", {1}, {1}}}).path), HasSubstr("no image baseline_mean"));
    EXPECT_THAT(error(test::FitsFile({{"baseline_mean", {2, 3}, std::vector<float>(6)}}).path),
                HasSubstr("shape 2 x 3"));
    EXPECT_THAT(error(test::FitsFile({{"baseline_mean", {2, 21, 1}, std::vector<float>(42, NAN)}}).path),
                HasSubstr("nan"));
    EXPECT_THAT(error(test::FitsFile({{"baseline_mean", {2, 21, 1}, std::vector<float>(42, -1)}}).path),
                HasSubstr("-1"));
    const auto with_factors = [](std::vector<std::size_t> of_factors, float factor) {
        std::size_t n = 1;
        for (const std::size_t size : of_factors) n *= size;
        return test::FitsFile({{"baseline_mean", {2, 21, 1}, std::vector<float>(42)},
                               {"flatfield", std::move(of_factors), std::vector<float>(n, factor)}});
    };
    EXPECT_EQ(error(with_factors({2, 21}, 1).path), "nothing");
    EXPECT_THAT(error(with_factors({2, 20}, 1).path), HasSubstr("flatfield has the shape 2 x 20"));
    for (const float factor : {0.F, -1.F, NAN, 1001.F})
        EXPECT_THAT(error(with_factors({2, 21}, factor).path), HasSubstr("flatfield has a factor of"));
    EXPECT_THAT(error(good.path, good.path), HasSubstr("no image PIXEL_BATCH"));
    const test::FitsFile wrong_batch({{"pixel_batch", {2, 21}, std::vector<float>(42, 1)},
                                      {"scale", {1}, {11}},
                                      {"exponent", {1}, {0.2F}},
                                      {"t0", {1}, {100}}});
    EXPECT_THAT(error(good.path, wrong_batch.path), HasSubstr("batch 1 of 1"));
    const test::FitsFile wrong_law({{"pixel_batch", {2, 21}, std::vector<float>(42, 0)},
                                    {"scale", {1}, {11}},
                                    {"exponent", {1}, {0.2F}},
                                    {"t0", {1}, {-1}}});
    EXPECT_THAT(error(good.path, wrong_law.path), HasSubstr("T0 -1"));
}

}  // namespace
}  // namespace anello::camera::calibration_test

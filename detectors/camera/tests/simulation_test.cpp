// SPDX-License-Identifier: Apache-2.0
#include "camera/source/simulation.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include "camera/wire/camera.hpp"
#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera::simulation_test {

using namespace anello::source;

namespace {

struct Event {
    CameraTruth truth;
    std::vector<std::uint16_t> samples;  // [board][gain][pixel][sample]
};

Event event_of(CameraSimulation& simulation, const WaveformShape& shape, std::uint32_t number) {
    Event event{simulation.begin_event(number), {}};
    std::vector<std::byte> payload(shape.payload_bytes());
    for (std::uint32_t board = 0; board < shape.n_boards; ++board) {
        simulation.write_waveforms(board, payload);
        for (std::size_t i = 0; i < payload.size(); i += 2)
            event.samples.push_back(anello::wire::load_le<std::uint16_t>(payload.data() + i));
    }
    return event;
}

/// Sum over samples less pedestal, in photo-electrons' charges.
std::vector<double> charges(const Event& event, const CameraSimulationConfig& config, const WaveformShape& shape,
                            std::uint32_t gain) {
    // The integral of one photo-electron's pulse of height 1: 5 pi / 32 scales on each side.
    const double area = 5 * 3.14159265 / 32 * (config.pulse_rise_ns + config.pulse_fall_ns) / 0.4349785;
    std::vector<double> of_pixel;
    for (std::uint32_t board = 0; board < shape.n_boards; ++board) {
        for (std::uint32_t pixel = 0; pixel < shape.n_pixels; ++pixel) {
            const std::size_t begin =
                ((std::size_t{board} * shape.n_gains + gain) * shape.n_pixels + pixel) * shape.n_samples;
            double sum = 0;
            for (std::uint32_t i = 0; i < shape.n_samples; ++i) sum += event.samples[begin + i] - config.pedestal_adc;
            of_pixel.push_back(sum / (config.pe_height_adc[gain] * area));
        }
    }
    return of_pixel;
}

TEST(CameraSimulation, WithoutAShowerThereIsPedestalAndNoise) {
    CameraSimulationConfig config;
    config.signal_share = 0;
    const WaveformShape shape;
    CameraSimulation simulation(config, shape, 1);
    const Event event = event_of(simulation, shape, 0);
    EXPECT_FALSE(event.truth.has_shower());
    for (std::uint32_t gain = 0; gain < 2; ++gain) {
        double sum = 0, squares = 0, n = 0;
        for (std::size_t i = 0; i < event.samples.size(); ++i) {
            if (i / (7 * 60) % 2 != gain) continue;
            sum += event.samples[i];
            squares += double{1} * event.samples[i] * event.samples[i];
            ++n;
        }
        EXPECT_NEAR(sum / n, config.pedestal_adc, 0.05);
        EXPECT_NEAR(std::sqrt(squares / n - sum / n * (sum / n)), config.noise_adc[gain], 0.1);
    }
}

TEST(CameraSimulation, APedestalHasNoLightAndAFlatFieldTheSameInAllPixels) {
    CameraSimulationConfig config;
    config.signal_share = 1;
    config.pedestal_share = 0.25;
    config.flatfield_share = 0.25;
    config.max_adc = 65535;
    const WaveformShape shape;
    CameraSimulation simulation(config, shape, 7);
    std::uint32_t n_pedestals = 0, n_flat_fields = 0;
    for (std::uint32_t number = 0; number < 8; ++number) {
        const Event event = event_of(simulation, shape, number);
        const auto charge = charges(event, config, shape, 0);
        double sum = 0, squares = 0;
        for (const double one : charge) {
            sum += one;
            squares += one * one;
        }
        const double n = static_cast<double>(charge.size()), mean = sum / n;
        if (event.truth.trigger_tag == anello::wire::camera::tag_pedestal) {
            ++n_pedestals;
            EXPECT_FALSE(event.truth.has_shower());
            EXPECT_EQ(event.truth.n_pe, 0);
            EXPECT_NEAR(mean, 0, 0.2);
        } else if (event.truth.trigger_tag == anello::wire::camera::tag_calibration) {
            ++n_flat_fields;
            EXPECT_FALSE(event.truth.has_shower());
            EXPECT_NEAR(event.truth.n_pe / n, config.flatfield_pe, 1);
            EXPECT_NEAR(mean, config.flatfield_pe, 1);
            EXPECT_LT(std::sqrt(squares / n - mean * mean), 12) << "Poisson's 7.7, charges and noise";
        } else {
            EXPECT_TRUE(event.truth.has_shower());
        }
    }
    EXPECT_EQ(n_pedestals, 2U);
    EXPECT_EQ(n_flat_fields, 2U);
}

TEST(CameraSimulation, CalibrationEventsComeAtEvenDistances) {
    const auto count = [](double pedestals, double flat_fields, std::uint32_t n_events) {
        CameraSimulationConfig config;
        config.pedestal_share = pedestals;
        config.flatfield_share = flat_fields;
        std::array<std::uint32_t, 128> n{};
        for (std::uint32_t i = 0; i < n_events; ++i) ++n[trigger_tag_of(config, i)];
        EXPECT_EQ(n[1] + n[4] + n[32], n_events);
        return std::pair(n[32], n[4]);
    };
    EXPECT_EQ(count(0, 0, 1000), std::pair(0U, 0U));
    EXPECT_EQ(count(0.1, 0, 10), std::pair(1U, 0U));
    EXPECT_EQ(count(0, 0.1, 1000), std::pair(0U, 100U));
    EXPECT_EQ(count(0.1, 0.05, 1000), std::pair(100U, 50U));
    EXPECT_EQ(count(1. / 64, 1. / 64, 64), std::pair(1U, 1U));
    EXPECT_EQ(count(0.7, 0.3, 100), std::pair(70U, 30U));
    EXPECT_EQ(count(1, 0, 100), std::pair(100U, 0U));
}

/// Were they drawn from the same numbers, events with a shower would have other noise than those without.
TEST(CameraSimulation, NoiseKnowsNothingOfTheImage) {
    CameraSimulationConfig config;
    config.signal_share = 0.5;
    config.pe_height_adc[0] = config.pe_height_adc[1] = 0;  // light is not seen
    config.noise_adc[0] = 50;
    const WaveformShape shape;
    CameraSimulation simulation(config, shape, 20261122);
    std::vector<std::byte> payload(shape.payload_bytes());
    double sum[2] = {}, n_events[2] = {};
    for (std::uint32_t number = 0; number < 1000; ++number) {
        const bool has_shower = simulation.begin_event(number).has_shower();
        simulation.write_waveforms(0, payload);
        sum[has_shower ? 1 : 0] += anello::wire::load_le<std::uint16_t>(payload.data());  // the first to be drawn
        n_events[has_shower ? 1 : 0] += 1;
    }
    EXPECT_NEAR(sum[0] / n_events[0], sum[1] / n_events[1], 0.2 * config.noise_adc[0]);
}

TEST(CameraSimulation, TheImageIsTheTruesEllipse) {
    CameraSimulationConfig config;
    config.signal_share = 1;
    config.min_pe = 1000;
    config.max_pe = 2000;
    config.max_adc = 65535;  // no clipping: all charge is seen
    config.noise_adc[0] = 0;
    const WaveformShape shape;
    CameraSimulation simulation(config, shape, 3);
    const auto& geometry = simulation.geometry();
    std::uint32_t n_inside = 0;
    for (std::uint32_t number = 0; number < 40; ++number) {
        const Event event = event_of(simulation, shape, number);
        const CameraTruth& truth = event.truth;
        ASSERT_TRUE(truth.has_shower());
        EXPECT_NEAR(truth.axis_x * truth.axis_x + truth.axis_y * truth.axis_y, 1, 1e-5);
        const auto charge = charges(event, config, shape, 0);
        double sum = 0, x = 0, y = 0;
        for (std::uint32_t pixel = 0; pixel < charge.size(); ++pixel) {
            sum += charge[pixel];
            x += charge[pixel] * geometry.x_mm[pixel];
            y += charge[pixel] * geometry.y_mm[pixel];
        }
        EXPECT_NEAR(sum / truth.n_pe, 1, 0.06);
        if (std::hypot(truth.x_mm, truth.y_mm) > 600) continue;  // near the edge the image is cut
        ++n_inside;
        x /= sum;
        y /= sum;
        EXPECT_NEAR(x, truth.x_mm, 25);
        EXPECT_NEAR(y, truth.y_mm, 25);
        double along = 0, across = 0;
        for (std::uint32_t pixel = 0; pixel < charge.size(); ++pixel) {
            const double dx = geometry.x_mm[pixel] - x, dy = geometry.y_mm[pixel] - y;
            along += charge[pixel] * std::pow(dx * truth.axis_x + dy * truth.axis_y, 2) / sum;
            across += charge[pixel] * std::pow(dy * truth.axis_x - dx * truth.axis_y, 2) / sum;
        }
        // A hexagonal pixel of 50 mm adds 50^2 * 5 / 72 to the square of either width.
        EXPECT_NEAR(std::sqrt(along - 174), truth.length_mm, 0.12 * truth.length_mm);
        EXPECT_NEAR(std::sqrt(across - 174), truth.width_mm, 0.25 * truth.width_mm);
    }
    EXPECT_GT(n_inside, 5U);
}

TEST(CameraSimulation, LightComesAlongTheAxisInTime) {
    CameraSimulationConfig config;
    config.signal_share = 1;
    config.min_pe = 3000;
    config.max_pe = 4000;
    config.max_adc = 65535;
    const WaveformShape shape;
    CameraSimulation simulation(config, shape, 5);
    const auto& geometry = simulation.geometry();
    for (std::uint32_t number = 0; number < 20; ++number) {
        const Event event = event_of(simulation, shape, number);
        const auto charge = charges(event, config, shape, 0);
        double weight = 0, square = 0, product = 0, mean = 0, mean_time = 0;
        std::vector<std::pair<double, double>> points;
        for (std::uint32_t pixel = 0; pixel < charge.size(); ++pixel) {
            if (charge[pixel] < 30) continue;
            const std::uint16_t* samples = event.samples.data() + ((pixel / 7) * 14 + pixel % 7) * std::size_t{60};
            const auto peak = static_cast<double>(std::max_element(samples, samples + 60) - samples);
            const double along = (geometry.x_mm[pixel] - event.truth.x_mm) * event.truth.axis_x +
                                 (geometry.y_mm[pixel] - event.truth.y_mm) * event.truth.axis_y;
            points.emplace_back(along, peak);
            weight += 1;
            mean += along;
            mean_time += peak;
        }
        if (points.size() < 12) continue;
        mean /= weight;
        mean_time /= weight;
        for (const auto& [along, time] : points) {
            square += (along - mean) * (along - mean);
            product += (along - mean) * (time - mean_time);
        }
        EXPECT_NEAR(product / square, event.truth.time_gradient_ns_per_mm, 0.008);
        EXPECT_NEAR(mean_time - mean * product / square, event.truth.time_ns, 1.2);
    }
}

TEST(CameraSimulation, GainsDifferAndTheHighOneClips) {
    CameraSimulationConfig config;
    config.signal_share = 1;
    config.min_pe = config.max_pe = 100'000;
    const WaveformShape shape;
    CameraSimulation simulation(config, shape, 1);
    const Event event = event_of(simulation, shape, 0);
    EXPECT_EQ(*std::max_element(event.samples.begin(), event.samples.end()), 4095);
    config.min_pe = config.max_pe = 300;
    CameraSimulation faint(config, shape, 1);
    const Event small = event_of(faint, shape, 0);
    const auto high = charges(small, config, shape, 0), low = charges(small, config, shape, 1);
    const auto brightest = std::max_element(high.begin(), high.end()) - high.begin();
    EXPECT_GT(high[static_cast<std::size_t>(brightest)], 5);
    EXPECT_NEAR(low[static_cast<std::size_t>(brightest)], high[static_cast<std::size_t>(brightest)], 4);
    EXPECT_NEAR(config.pe_height_adc[0] / config.pe_height_adc[1], 13, 0.01);
}

TEST(CameraSimulation, NumbersOfPhotoElectronsHaveTheirSpectrum) {
    CameraSimulationConfig config;
    config.signal_share = 0.25;
    const WaveformShape shape{.n_samples = 1};
    CameraSimulation simulation(config, shape, 9);
    std::uint32_t n_showers = 0, n_above_double = 0;
    for (std::uint32_t number = 0; number < 4000; ++number) {
        const CameraTruth truth = simulation.begin_event(number);
        n_showers += truth.has_shower();
        n_above_double += truth.n_pe > 200;
    }
    EXPECT_NEAR(n_showers / 4000.0, 0.25, 0.03);
    EXPECT_NEAR(n_above_double / 1000.0, 0.25 * 0.96, 0.05) << "a quarter has four times the least";
}

TEST(CameraSimulation, AnEventDoesNotDependOnTheOnesBefore) {
    const CameraSimulationConfig config;
    const WaveformShape shape{.n_boards = 19};
    CameraSimulation simulation(config, shape, 4), fresh(config, shape, 4);
    for (std::uint32_t number = 0; number < 5; ++number) (void)event_of(simulation, shape, number);
    EXPECT_EQ(event_of(simulation, shape, 17).samples, event_of(fresh, shape, 17).samples);
    EXPECT_NE(event_of(simulation, shape, 18).samples, event_of(fresh, shape, 17).samples);
}

}  // namespace
}  // namespace anello::camera::simulation_test

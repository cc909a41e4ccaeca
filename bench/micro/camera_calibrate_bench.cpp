// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "camera/calibrate/calibration.hpp"
#include "camera/events/slot.hpp"
#include "camera/tests/camera_event.hpp"

/// Time of one core for one LST event (265 boards, 40 samples, 2 gains, 308 kB), corrected where it stands in memory,
/// as the filter stage does it: by steps. Boards read any of their cells, events are 100 us apart, so that a cell was
/// read 10 ms before, as at 10 kHz: the dearest case of time lapse. 64 events take turns (20 MB), coefficients and
/// times are 92 MB.
namespace {

using namespace anello;

constexpr camera::CalibratedShape shape{.n_boards = 265, .pixels_per_board = 7, .n_gains = 2, .n_samples = 40};
constexpr std::int64_t ticks_between_events = 13'333;

camera::CalibrationCoefficients coefficients(source::Random& random, std::uint32_t n_cells) {
    camera::CalibrationCoefficients made;
    made.n_cells = n_cells;
    made.baseline.resize(shape.n_channels() * n_cells);
    for (auto& baseline : made.baseline) baseline = static_cast<std::uint16_t>(16 * 250 + random.below(16 * 20));
    made.spike.assign(shape.n_channels(), {16 * 20, 16 * 45, 16 * 10});
    made.law_of_channel.resize(shape.n_channels());
    made.laws.resize(1);
    return made;
}

void calibrate(benchmark::State& state, std::uint32_t n_cells, camera::CameraCalibration::Steps steps) {
    source::Random random(1);
    camera::CameraCalibration calibration(coefficients(random, n_cells), shape, steps);
    std::vector<std::unique_ptr<test::CameraEvent>> events;
    for (std::uint32_t i = 0; i < 64; ++i)
        events.push_back(std::make_unique<test::CameraEvent>(test::CameraLayout{.n_samples = 40}, i));
    for (auto& event : events) test::fill_waveforms(*event, random, 4, [](std::uint32_t) { return 0.0; });
    std::vector<camera::Drs4Readout> readouts(std::size_t{1024} * shape.n_boards);
    for (auto& readout : readouts)
        for (auto& cell : readout.first_cell) cell = static_cast<std::uint16_t>(random.below(camera::drs4_cells));
    std::uint64_t clock = 1, n = 0;
    const auto correct_event = [&] {
        camera::Drs4Readout* const of_boards = &readouts[n % 1024 * shape.n_boards];
        test::CameraEvent& event = *events[n++ % events.size()];
        clock += ticks_between_events;
        for (std::uint32_t board = 0; board < shape.n_boards; ++board) {
            if (board + 1 < shape.n_boards) calibration.prefetch(board + 1, of_boards[board + 1]);
            of_boards[board].clock_ticks = clock;
            calibration.correct(board, 1, event.slot(board) + wire::camera::header_bytes, &of_boards[board]);
        }
    };
    for (int i = 0; i < 500; ++i) correct_event();  // so that all cells have been read
    for (auto _ : state) correct_event();
    state.SetItemsProcessed(state.iterations());
}

using Steps = camera::CameraCalibration::Steps;
BENCHMARK_CAPTURE(calibrate, pedestal_of_pixels, 1, Steps{})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(calibrate, baseline, camera::drs4_cells, Steps{.time_lapse = false, .spikes = false})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(calibrate, baseline_spikes, camera::drs4_cells, Steps{.time_lapse = false})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(calibrate, all, camera::drs4_cells, Steps{})->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();

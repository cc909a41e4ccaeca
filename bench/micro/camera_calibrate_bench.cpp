// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "camera/calibrate/calibration.hpp"
#include "camera/chain/selection.hpp"
#include "camera/events/builder/slot.hpp"
#include "camera/tests/camera_event.hpp"
#include "camera/tests/fits_file.hpp"
#include "wire/bytes.hpp"

/// Time of one core to correct one LST event (265 boards, 40 samples, 2 gains, 308 kB) in place in memory, step
/// by step, as the filter stage does. Boards read any of their cells; events are 100 us apart, so that a cell was
/// read 10 ms before, as at 10 kHz: the most expensive case of time lapse. 64 events take turns (20 MB); coefficients
/// and times are 92 MB. selected/N: the whole stage filter, calibration with all steps, integration and decision, by N
/// threads (0: by the one that filters), in events per s.
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
    std::vector<std::unique_ptr<camera::test::CameraEvent>> events;
    for (std::uint32_t i = 0; i < 64; ++i)
        events.push_back(std::make_unique<camera::test::CameraEvent>(camera::test::CameraLayout{.n_samples = 40}, i));
    for (auto& event : events) camera::test::fill_waveforms(*event, random, 4, [](std::uint32_t) { return 0.0; });
    std::vector<camera::Drs4Readout> readouts(std::size_t{1024} * shape.n_boards);
    for (auto& readout : readouts)
        for (auto& cell : readout.first_cell) cell = static_cast<std::uint16_t>(random.below(camera::drs4_cells));
    std::uint64_t clock = 1, n = 0;
    const auto correct_event = [&] {
        camera::Drs4Readout* const of_boards = &readouts[n % 1024 * shape.n_boards];
        camera::test::CameraEvent& event = *events[n++ % events.size()];
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

/// Events of which each board reads any of its cells, again and again, later each time.
class Endless final : public camera::CameraEvents {
  public:
    Endless() {
        source::Random random(1);
        for (std::uint32_t i = 0; i < 64; ++i) {
            events_.push_back(
                std::make_unique<camera::test::CameraEvent>(camera::test::CameraLayout{.n_samples = 40}, i));
            camera::test::fill_waveforms(*events_.back(), random, 4, [](std::uint32_t) { return 0.0; });
            for (std::uint32_t board = 0; board < shape.n_boards; ++board) events_.back()->add_first_cells(board, {});
        }
        for (auto& cells : cells_)
            for (auto& cell : cells) cell = static_cast<std::uint16_t>(random.below(camera::drs4_cells));
    }
    bool try_take(camera::CameraEventView& view) noexcept override {
        if (n_out_ == events_.size()) return false;
        ++n_out_;
        camera::test::CameraEvent& event = *events_[n_taken_++ % events_.size()];
        clock_ += ticks_between_events;
        for (std::uint32_t board = 0; board < shape.n_boards; ++board) {
            std::byte* const slot = event.slot(board);
            wire::store_le(slot + 54, clock_);
            wire::camera::write_first_cells({slot + wire::camera::header_bytes, event.view().shape.max_payload_bytes},
                                            cells_[(n_taken_ * shape.n_boards + board) % cells_.size()]);
        }
        view = event.view();
        return true;
    }
    void release(const camera::CameraEventView&) noexcept override {
        --n_out_;
        ++n_released;
    }
    bool is_empty() const noexcept override { return n_out_ == events_.size(); }

    std::uint64_t n_released = 0;

  private:
    std::vector<std::unique_ptr<camera::test::CameraEvent>> events_;
    std::vector<wire::camera::FirstCells> cells_{997 * shape.n_boards};
    std::uint64_t n_taken_ = 0, clock_ = 1;
    std::size_t n_out_ = 0;
};

void select(benchmark::State& state) {
    std::vector<float> baseline(shape.n_channels() * camera::drs4_cells, 250), spike(shape.n_channels() * 3, 20);
    const camera::test::FitsFile file(
        {{"baseline_mean", {2, shape.n_pixels(), camera::drs4_cells}, std::move(baseline)},
         {"spike_height", {2, shape.n_pixels(), 3}, std::move(spike)}});
    camera::CameraOutletConfig config;
    config.integrator.n_samples = shape.n_samples;
    config.calibrate.file = file.path;
    config.filter.n_threads = static_cast<std::int32_t>(state.range(0));
    CounterPage page;
    Endless events;
    camera::CameraSelection selection(config, events, nullptr, SystemClock::instance(), page);
    const pipeline::Stage filter = selection.stage(), pixels = selection.pixels().stage();
    std::atomic<bool> is_over{false};
    std::vector<std::jthread> threads;
    for (std::uint32_t lane = 0; lane < static_cast<std::uint32_t>(state.range(0)); ++lane)
        threads.emplace_back([&, lane] {
            while (!is_over.load(std::memory_order_relaxed))
                if (pixels.do_work(lane) == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
        });
    const auto select_until = [&](std::uint64_t n) {
        while (events.n_released < n)
            if (filter.do_work(0) == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    };
    select_until(500);  // so that most cells have been read
    for (auto _ : state) select_until(events.n_released + 100);
    state.SetItemsProcessed(100 * state.iterations());
    is_over = true;
}
BENCHMARK(select)->Name("selected")->Arg(0)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

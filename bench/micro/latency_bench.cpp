// SPDX-License-Identifier: Apache-2.0
// What noting the latency of an event costs: in a histogram, in a leg that also knows the last seconds, against time;
// and what a thread pays for telling of each step.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "core/counters/event_slot.hpp"
#include "core/counters/thread_cell.hpp"
#include "core/latency/histogram.hpp"
#include "core/latency/latency_leg.hpp"
#include "core/latency/latency_series.hpp"

namespace {

using namespace anello;

void histogram(benchmark::State& state) {
    const auto histogram = std::make_unique<LatencyHistogram>();
    std::int64_t value_ns = 50'000;
    for ([[maybe_unused]] auto _ : state) histogram->record(value_ns = (value_ns * 5 + 1) & 0xFFFFF);
}
BENCHMARK(histogram);

/// Events come 2 us one after the other: every 500,000th marks.
void leg(benchmark::State& state) {
    const auto leg = std::make_unique<LatencyLeg>();
    std::int64_t value_ns = 50'000;
    Nanoseconds now_ns = 1;
    for ([[maybe_unused]] auto _ : state) leg->record(now_ns += 2000, value_ns = (value_ns * 5 + 1) & 0xFFFFF);
}
BENCHMARK(leg);

/// Each record marks.
void marks(benchmark::State& state) {
    const auto leg = std::make_unique<LatencyLeg>();
    std::int64_t value_ns = 50'000;
    Nanoseconds now_ns = 1;
    for ([[maybe_unused]] auto _ : state) leg->record(now_ns += 1'000'000'000, value_ns = (value_ns * 5 + 1) & 0xFFFFF);
}
BENCHMARK(marks);

void thread_step(benchmark::State& state) {
    ThreadCell cell;
    const SystemClock& clock = SystemClock::instance();
    cell.begin(clock.monotonic_ns());
    for ([[maybe_unused]] auto _ : state) cell.came_by(clock.monotonic_ns(), true);
}
BENCHMARK(thread_step);

/// The time that the payload of a RICH event takes, ten times a second.
void event_slot(benchmark::State& state) {
    const auto slot = std::make_unique<EventSlot>();
    const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)));
    for ([[maybe_unused]] auto _ : state) slot->put("kind", 1, payload);
}
BENCHMARK(event_slot)->Arg(656)->Arg(8208);

/// Events come 2 us one after the other: every 5000th is in a new bin.
void series(benchmark::State& state) {
    LatencySeries series;
    std::int64_t value_ns = 50'000;
    Nanoseconds now_ns = 1;
    for ([[maybe_unused]] auto _ : state) series.record(now_ns += 2000, value_ns = (value_ns * 5 + 1) & 0xFFFFF);
}
BENCHMARK(series);

}  // namespace

BENCHMARK_MAIN();

// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "camera/filter/filter.hpp"
#include "camera/tests/camera_event.hpp"

/// Time of one core for one NectarCAM event (265 boards, 60 samples, 2 gains, 445 kB): integration by instruction set,
/// and integration with the filter's decision. Argument: events that take turns, 1 (in the cache) or 64 (28 MB).
namespace {

using namespace anello;

using Events = std::vector<std::unique_ptr<camera::test::CameraEvent>>;

/// Every other event has a shower: 60 pixels of 20 photo-electrons around the centre.
Events make_events(std::int64_t n) {
    Events events;
    source::Random random(1);
    for (std::int64_t e = 0; e < n; ++e) {
        events.push_back(
            std::make_unique<camera::test::CameraEvent>(camera::test::CameraLayout{}, static_cast<std::uint32_t>(e)));
        camera::test::fill_waveforms(*events.back(), random, 4,
                                     [e](std::uint32_t pixel) { return e % 2 == 0 && pixel < 60 ? 20.0 : 0.0; });
    }
    return events;
}

void integrate(benchmark::State& state, Isa isa) {
    if (!is_available(isa)) return state.SkipWithError("this processor has not these registers");
    const Events events = make_events(state.range(0));
    camera::PixelIntegrator integrator({.isa = isa});
    std::size_t e = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(integrator.integrate(events[e]->view()));
        e = (e + 1) % events.size();
    }
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(events[0]->view().shape.event_bytes()));
}

void integrate_and_decide(benchmark::State& state) {
    const Events events = make_events(state.range(0));
    CounterPage page;
    camera::PixelIntegrator integrator({});
    camera::CameraFilter filter({.prescale = 100}, camera::make_camera_geometry(265), page);
    std::size_t e = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(filter.decide(events[e]->view(), integrator.integrate(events[e]->view())));
        e = (e + 1) % events.size();
    }
    state.SetItemsProcessed(state.iterations());
    const double share = static_cast<double>(filter.counters()[camera::FilterCounter::events_kept]) /
                         static_cast<double>(filter.counters()[camera::FilterCounter::events_in]);
    state.counters["kept"] = share;
}

BENCHMARK_CAPTURE(integrate, scalar, Isa::scalar)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(integrate, sse42, Isa::sse42)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(integrate, avx2, Isa::avx2)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(integrate, avx512, Isa::avx512)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK(integrate_and_decide)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();

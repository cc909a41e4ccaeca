// SPDX-License-Identifier: Apache-2.0
// What storing decisions costs the thread that does it: the mean of an event, the longest step, the share of a core at
// this rate.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/clock.hpp"
#include "rich/decide/decision_writer.hpp"

namespace {

using namespace anello;
using namespace anello::rich;

constexpr std::uint32_t n_in_batch = 256;

/// A batch whose events have a ring each.
struct Batch {
    Batch() : key(n_in_batch, 7), fine(n_in_batch), id(n_in_batch), stamp(n_in_batch, 1), rings(n_in_batch) {
        for (EventRings& of_event : rings) of_event.n_rings = 1;
        view.n_events = n_in_batch;
        view.event_key = key.data();
        view.fine_time = view.event_flags = fine.data();
        view.primitive_id = id.data();
        view.rings = rings.data();
        view.sent_ns = view.kernel_ns = view.placed_ns = stamp.data();
    }
    std::vector<std::uint64_t> key;
    std::vector<std::uint8_t> fine;
    std::vector<std::uint16_t> id;
    std::vector<Nanoseconds> stamp;
    std::vector<EventRings> rings;
    DecisionBatch view{};
};

/// Stores a stream of `rate` events per second, faster than it would come: files are saved by the stream's own time.
void store_decisions(benchmark::State& state) {
    const auto rate_hz = static_cast<double>(state.range(0));
    const std::string path = std::filesystem::current_path() / ("store_bench_" + std::to_string(getpid()));
    CounterPage page;
    const SystemClock clock;
    const Batch batch;
    Nanoseconds longest_ns = 0, busy_ns = 0;
    double beam_ns = 0;
    {
        DecisionWriter writer({.path = path}, page);
        for ([[maybe_unused]] auto _ : state) {
            const Nanoseconds begin_ns = clock.monotonic_ns();
            beam_ns += 1e9 * n_in_batch / rate_hz;
            writer.take(batch.view);
            writer.write(static_cast<Nanoseconds>(beam_ns));
            const Nanoseconds step_ns = clock.monotonic_ns() - begin_ns;
            longest_ns = std::max(longest_ns, step_ns);
            busy_ns += step_ns;
        }
    }
    state.SetItemsProcessed(state.iterations() * n_in_batch);
    state.counters["longest_us"] = static_cast<double>(longest_ns) * 1e-3;
    state.counters["core_percent"] = 100 * static_cast<double>(busy_ns) / beam_ns;
    std::filesystem::remove(path);
}
BENCHMARK(store_decisions)->Arg(20'000)->Arg(200'000)->Arg(1'000'000)->Arg(5'000'000)->Iterations(20'000);

}  // namespace

BENCHMARK_MAIN();

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/machine_probe.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace anello::pipeline {
namespace {

constexpr Nanoseconds its_own_timer_ns = 10'000'000'000;  // its timer wakes it much earlier

std::vector<int> pinned_cores(std::span<const ThreadPlan> chain) {
    std::vector<int> cores;
    for (const ThreadPlan& thread : chain)
        for (const int core : thread.cores)
            if (core >= 0 && std::ranges::find(cores, core) == cores.end()) cores.push_back(core);
    return cores;
}

std::vector<int> usable_cores() {
    cpu_set_t set;
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;  // the machine has more cores than this set can hold
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    return cores;
}

/// A number that grows while data arrives: the count of the chain's latencies.
std::function<std::uint64_t()> n_recorded(const Latencies& latency) {
    std::vector<const LatencyHistogram*> legs;
    for (const auto& [name, leg] : latency) legs.push_back(leg);
    return [legs] {
        std::uint64_t n = 0;
        for (const LatencyHistogram* leg : legs) n += leg->count();
        return n;
    };
}

}  // namespace

MachineProbe::MachineProbe(std::span<const ThreadPlan> chain, HiccupProbe::Config config, const Clock& clock) {
    const std::vector<int> pinned = pinned_cores(chain);
    realtime_ = !pinned.empty() && std::ranges::any_of(chain, [](const ThreadPlan& thread) { return thread.realtime; });
    std::vector<int> watched = pinned;
    for (const int core : usable_cores())
        if (std::ranges::find(pinned, core) == pinned.end()) watched.push_back(core);
    watched.resize(std::min(watched.size(), max_cores));
    config.idle_nap_ns = idle_nap_ns * static_cast<Nanoseconds>(watched.size());
    for (std::size_t i = 0; i < watched.size(); ++i)
        cores_.emplace_back(watched[i], pinned.empty() || i < pinned.size(), config, clock);
}

ChainPart MachineProbe::part() {
    ChainPart part;
    for (OnCore& one : cores_) {
        const std::string name = fmt::format("probe.{}", one.core);
        part.stages.push_back({.name = name,
                               .do_work = [&one](std::uint32_t) { return one.probe.do_work(); },
                               .wake_descriptor = [&one](std::uint32_t) { return one.probe.descriptor(); },
                               .longest_wait_ns = [](std::uint32_t) { return its_own_timer_ns; }});
        part.threads.push_back(
            {.name = name, .stages = {name}, .cores = {one.core}, .realtime = realtime_, .goes_first = true});
    }
    return part;
}

std::unique_ptr<MachineProbe> add_probe(Runner& runner, double share, std::span<const ThreadPlan> chain,
                                        const Clock& clock) {
    if (share == 0) return nullptr;
    auto probe = std::make_unique<MachineProbe>(
        chain, HiccupProbe::Config{.share = share, .n_done = n_recorded(runner.latency())}, clock);
    runner.add(probe->part());
    return probe;
}

}  // namespace anello::pipeline

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/keys.hpp"
#include "pipeline/layout.hpp"

namespace anello::pipeline {

inline constexpr const char* threads_meaning = "Which stages share a thread, and where threads run.";
inline constexpr std::size_t max_threads = 32, max_cores = 256;

/// The keys threads.layout and threads.cores of a chain with these stages.
template <typename Threads, const auto& stages>
inline constexpr std::array placement_keys{
    Key<Threads>::template of<&ThreadsConfig::layout>(
        "layout", Limits{}.entries(1, max_threads),
        "One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
        .made_of(stages),
    Key<Threads>::template of<&ThreadsConfig::cores>("cores", Limits{-1, 4095}.entries(0, max_cores),
                                                     "Logical core of each thread of the layout, then of their second "
                                                     "lanes, third lanes and so on; -1 or missing: any core."),
};

template <typename Threads>
inline constexpr std::array running_keys{
    Key<Threads>::template of<&ThreadsConfig::wait>(
        "wait",
        "What a thread does without work. sleep: new data wakes it; spin: it polls and takes a whole core; "
        "spin_pinned: threads with a core spin, the others sleep; auto: spin_pinned if that core is isolated or the "
        "other threads have enough idle cores, otherwise sleep."),
    Key<Threads>::template of<&ThreadsConfig::placement>(
        "placement",
        "Placement of threads without a given core. auto: each thread on the data's way gets a core, with real-time "
        "priority if permitted, and all other threads share the rest; free: the operating system places them."),
    Key<Threads>::template of<&ThreadsConfig::priority>(
        "priority",
        "Priority of threads with a core, and of simulated front ends; realtime: above all normal threads."),
    Key<Threads>::template of<&ThreadsConfig::rest_ns, ns_per_us>(
        "rest_us", {0, 10'000},
        "How long a sleeping thread rests after it found few datagrams (fewer than 16), so that it finds more next "
        "time, us. This saves CPU time per datagram and adds at most this latency, like interrupt moderation of a "
        "network card; 0: never.")
        .for_experts(),
    Key<Threads>::template of<&ThreadsConfig::probe_share>(
        "probe_share", {0, 0.5},
        "Share of each core of the run for measuring how late the machine wakes threads; 0: not measured."),
};

/// All keys of the section.
template <typename Threads, const auto& stages>
inline constexpr auto thread_keys = joined(placement_keys<Threads, stages>, running_keys<Threads>);

}  // namespace anello::pipeline

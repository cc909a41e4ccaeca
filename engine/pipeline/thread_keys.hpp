// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/keys.hpp"
#include "pipeline/layout.hpp"

namespace anello::pipeline {

inline constexpr const char* threads_meaning = "Which stages share a thread, and where threads run.";
inline constexpr std::size_t max_threads = 32, max_cores = 256;

/// threads.layout and threads.cores of a chain with these stages.
template <typename Threads, const auto& stages>
inline constexpr std::array placement_keys{
    Key<Threads>::template of<&ThreadsConfig::layout>(
        "layout", Limits{}.entries(1, max_threads),
        "One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
        .made_of(stages),
    Key<Threads>::template of<&ThreadsConfig::cores>("cores", Limits{-1, 4095}.entries(0, max_cores),
                                                     "Logical core of each thread of the layout, then of their second "
                                                     "lanes, their third and so on; -1 or left out: any."),
};

template <typename Threads>
inline constexpr std::array running_keys{
    Key<Threads>::template of<&ThreadsConfig::wait>(
        "wait",
        "What a thread does when there is nothing to do. sleep: it is woken by what comes; spin: it looks again, at "
        "the "
        "cost of a core; spin_pinned: so do those that have a core; auto: the same, where that core is isolated or "
        "everything else has idle cores enough, otherwise sleep."),
    Key<Threads>::template of<&ThreadsConfig::placement>(
        "placement",
        "Where cores are not given; auto: threads on the data's way on cores of their own, at real-time priority where "
        "permitted, everything else on the others; free: wherever the system puts them."),
    Key<Threads>::template of<&ThreadsConfig::priority>(
        "priority", "Of threads that have a core, and of simulated front ends; realtime: before all usual threads."),
    Key<Threads>::template of<&ThreadsConfig::rest_ns, ns_per_us>(
        "rest_us", {0, 10'000},
        "How long a thread that sleeps rests after it found few datagrams (below 16), so that it finds more next time, "
        "us: less CPU time per datagram, so much more latency at most, as interrupt moderation of a network card; 0: "
        "never."),
    Key<Threads>::template of<&ThreadsConfig::probe_share>(
        "probe_share", {0, 0.5},
        "Of each core of the run, that may go into measuring how late the machine wakes a thread; 0: not measured."),
};

/// The whole section.
template <typename Threads, const auto& stages>
inline constexpr auto thread_keys = joined(placement_keys<Threads, stages>, running_keys<Threads>);

}  // namespace anello::pipeline

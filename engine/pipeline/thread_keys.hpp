// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/keys.hpp"
#include "pipeline/layout.hpp"

namespace anello::pipeline {

inline constexpr const char* threads_meaning = "Which stages share a thread, and where threads run.";
inline constexpr std::size_t max_threads = 32;

/// threads.layout and threads.cores of a chain with these stages.
template <typename Threads, const auto& stages>
inline constexpr std::array placement_keys{
    Key<Threads>::template of<&ThreadsConfig::layout>(
        "layout", Limits{}.entries(1, max_threads),
        "One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
        .made_of(stages),
    Key<Threads>::template of<&ThreadsConfig::cores>("cores", Limits{-1, 4095}.entries(0, max_threads),
                                                     "Logical core of each thread of the layout; -1 or left out: any."),
};

template <typename Threads>
inline constexpr std::array wait_key{
    Key<Threads>::template of<&ThreadsConfig::wait>("wait", "What a thread does when there is nothing to do."),
};

/// The whole section.
template <typename Threads, const auto& stages>
inline constexpr auto thread_keys = joined(placement_keys<Threads, stages>, wait_key<Threads>);

}  // namespace anello::pipeline

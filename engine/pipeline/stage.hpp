// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/latency/histogram.hpp"
#include "core/latency/latency_series.hpp"
#include "core/thread.hpp"
#include "memory/persistent_buffers.hpp"
#include "pipeline/layout.hpp"
#include "pipeline/told.hpp"

namespace anello::pipeline {

using Latencies = std::map<std::string, const LatencyHistogram*>;       ///< by name of the leg
using LatenciesOverTime = std::map<std::string, const LatencySeries*>;  ///< for some of these legs

/// State of a stage's buffers.
struct BufferLevel {
    std::uint64_t n_buffers = 0, n_free = 0;

    void add(const memory::PersistentBuffers& buffers) noexcept {
        n_buffers += buffers.n_buffers();
        n_free += buffers.n_free();
    }
};
using BufferLevels = std::map<std::string, BufferLevel>;  ///< by name of the stage that fills them

/// One stage of a chain, for the Runner: its work, its end, and its reports. A stage leaves members empty for what it
/// does not do. The control thread calls all members except do_work and has_input.
struct Stage {
    std::string name;  ///< as in threads.layout

    // --- Working
    std::uint32_t n_lanes = 1;  ///< parallel lanes, each on a thread of its own
    /// A stage aside works for the previous main stage and gives its results back to that one, which then feeds the
    /// next stage.
    bool is_aside = false;
    /// Makes a step of one lane; returns the work done, 0 = idle. A stage without it has no thread.
    std::function<std::size_t(std::uint32_t lane)> do_work{};
    std::size_t rest_below = 1;  ///< after less work than this a thread rests, so that the next step does more at once
    std::optional<Nanoseconds> rest_ns{};  ///< overrides the plan's; the shortest of a thread's stages applies
    /// Readable when a lane has work; the lane's thread sleeps on it.
    std::function<int(std::uint32_t lane)> wake_descriptor{};
    /// True if `lane` of the previous stage has given this stage work. The previous stage's thread asks after each of
    /// its steps, and then wakes this stage's thread.
    std::function<bool(std::uint32_t lane)> has_input{};
    /// For a stage aside: true if `lane` has given something back to the previous stage, whose thread is then woken.
    std::function<bool(std::uint32_t lane)> has_given_back{};
    /// How long a lane may wait before its next timer. Default: 1 ms. The first stage of a chain, if it has no
    /// descriptor, sleeps exactly this long.
    std::function<Nanoseconds(std::uint32_t lane)> longest_wait_ns{};
    /// Replaces the runner's way to wake the thread, for stages that sleep in their own way.
    std::function<void()> wake{};

    // --- Ending
    std::function<void()> drain{};       ///< The previous stages have drained: the stage finishes the data it has.
    std::function<bool()> is_drained{};  ///< Without it, the stage has drained when the next stage that has it says so.
    std::optional<Nanoseconds> patience_ns{};     ///< time limit for draining, if it depends on others than this chain
    std::function<void()> give_up_subscribers{};  ///< Called when draining has waited long enough for subscribers.
    std::function<void()> close{};                ///< Called after its threads have ended.

    // --- Reporting
    std::function<void(Notices&)> add_notices{};  ///< What changed since the last call, for the operator.
    std::function<void(States&)> add_states{};
    std::function<void(BufferLevels&)> add_buffers{};
    std::function<void(Latencies&)> add_latency{};
    std::function<void(LatenciesOverTime&)> add_latency_over_time{};
};

/// For Stage::longest_wait_ns of stages whose work comes only from input.
inline Nanoseconds no_timers(std::uint32_t) noexcept {
    return longest_idle_ns;
}

/// Stages in the order of the data's way, and the threads that serve them. Names in a plan that are not among these
/// stages are ignored; a stage in no plan gets a thread of its own.
struct ChainPart {
    std::vector<Stage> stages;
    std::vector<ThreadPlan> threads;
    WaitPolicy wait = WaitPolicy::sleep;
};

}  // namespace anello::pipeline

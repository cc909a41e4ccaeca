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
using LatenciesOverTime = std::map<std::string, const LatencySeries*>;  ///< of some of these legs

/// How a stage's buffers stand.
struct BufferLevel {
    std::uint64_t n_buffers = 0, n_free = 0;

    void add(const memory::PersistentBuffers& buffers) noexcept {
        n_buffers += buffers.n_buffers();
        n_free += buffers.n_free();
    }
};
using BufferLevels = std::map<std::string, BufferLevel>;  ///< by name of the stage that fills them

/// One stage of a chain, for the Runner: what it does, how it ends and what it tells. What a member leaves empty the
/// stage does not do. The control thread calls all members but do_work and has_input.
struct Stage {
    std::string name;  ///< as threads.layout has it

    // --- Working
    std::uint32_t n_lanes = 1;  ///< of it, side by side, each on a thread of its own
    /// It works for the stage before, which gets back what it gave; that one, not this, gives to the stage behind.
    bool is_aside = false;
    /// A step of one lane; returns the work done, 0 = idle. Without it the stage has no thread.
    std::function<std::size_t(std::uint32_t lane)> do_work{};
    std::size_t rest_below = 1;  ///< after less work than this a thread rests, so that the next step does more at once
    std::optional<Nanoseconds> rest_ns{};  ///< instead of what the thread's plan says; the shortest of its stages
    /// Readable when a lane has work; its thread sleeps on it.
    std::function<int(std::uint32_t lane)> wake_descriptor{};
    /// This stage has work that `lane` of the stage before gave it: asked after each step of that one, by its thread,
    /// which then wakes this one's.
    std::function<bool(std::uint32_t lane)> has_input{};
    /// Of a stage aside, likewise: `lane` gave something back to the stage before, whose thread is woken.
    std::function<bool(std::uint32_t lane)> has_given_back{};
    /// How long a lane may wait to be woken, as its own timers stand. Without it 1 ms. The first stage of a chain that
    /// has no descriptor to be woken by sleeps exactly as long.
    std::function<Nanoseconds(std::uint32_t lane)> longest_wait_ns{};
    /// Instead of that, where the stage sleeps in a way of its own.
    std::function<void()> wake{};

    // --- Ending
    std::function<void()> drain{};             ///< What came before has drained: the stage works off what it has.
    std::function<bool()> is_drained{};        ///< Without it the stage has drained when the next one has that says so.
    std::optional<Nanoseconds> patience_ns{};  ///< how long it may take, where that depends on others than this chain
    std::function<void()> give_up_subscribers{};  ///< Draining has waited for them long enough.
    std::function<void()> close{};                ///< Its threads have ended.

    // --- Telling
    std::function<void(Notices&)> add_notices{};  ///< What changed since the last call, one line each.
    std::function<void(States&)> add_states{};
    std::function<void(BufferLevels&)> add_buffers{};
    std::function<void(Latencies&)> add_latency{};
    std::function<void(LatenciesOverTime&)> add_latency_over_time{};
};

/// Stage::longest_wait_ns where nothing but input makes work.
inline Nanoseconds no_timers(std::uint32_t) noexcept {
    return longest_idle_ns;
}

/// Stages in the order of the data's way, and the threads that serve them. What a plan names beside these stages is
/// left out; a stage that no plan names has a thread of its own.
struct ChainPart {
    std::vector<Stage> stages;
    std::vector<ThreadPlan> threads;
    WaitPolicy wait = WaitPolicy::sleep;
};

}  // namespace anello::pipeline

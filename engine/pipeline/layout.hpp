// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/thread.hpp"

namespace anello::pipeline {

/// The stages of a node of the exchange, in the order of the data's way.
inline constexpr std::array<std::string_view, 4> exchange_chain{"generator", "readout", "builder", "manager"};

/// Where the control plane puts threads whose cores are not given. automatic: those on the data's way on cores of their
/// own, everything else on the others, where there are enough. free: wherever the system puts them.
enum class Placement : std::uint8_t { automatic, free };
/// Of threads that have a core. realtime: before all usual threads there, where that is permitted.
enum class Priority : std::uint8_t { usual, realtime };

/// automatic: as the control plane finds room for it; on its own the same as sleep. spin_pinned: threads that have a
/// core spin, the others sleep.
enum class Waiting : std::uint8_t { automatic, spin, spin_pinned, sleep };

/// The section threads of a chain, which derives from this to give its default layout (pipeline/thread_keys.hpp).
struct ThreadsConfig {
    std::vector<std::string> layout{};
    std::vector<int> cores{};
    Waiting wait = Waiting::automatic;
    Placement placement = Placement::automatic;
    Priority priority = Priority::usual;
    double probe_share = 0.004;
    Nanoseconds rest_ns = shortest_rest_ns;
};

/// One thread and the stages it serves in turn.
struct ThreadPlan {
    std::string name;  ///< as written, e.g. "receive+build"
    std::vector<std::string> stages;
    std::vector<int> cores{};                ///< by lane; -1 or left out: any
    bool realtime = false;                   ///< on those cores, before all usual threads there
    bool spins = false;                      ///< likewise, whatever its chain's threads do
    bool goes_first = false;                 ///< before the others that are real-time, too
    Nanoseconds rest_ns = shortest_rest_ns;  ///< after a step that did little; 0: it does not rest

    int core(std::uint32_t lane = 0) const noexcept { return lane < cores.size() ? cores[lane] : -1; }
    bool has(std::string_view stage) const { return std::ranges::find(stages, stage) != stages.end(); }
};

/// Reads e.g. {"receive+build", "trigger", "emit+store"} with cores {0, 1}. Every stage of the chain must be named
/// once, in order; cores may be fewer than threads, and those beyond are of the threads' second lanes, third lanes and
/// so on, in the same order. Throws ConfigError.
std::vector<ThreadPlan> parse_layout(const std::vector<std::string>& layout, const std::vector<int>& cores,
                                     std::span<const std::string_view> chain);

}  // namespace anello::pipeline

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<pipeline::Placement>{"auto", "free"};
template <>
inline constexpr std::array<const char*, 2> words_of<pipeline::Priority>{"usual", "realtime"};
template <>
inline constexpr std::array<const char*, 4> words_of<pipeline::Waiting>{"auto", "spin", "spin_pinned", "sleep"};

}  // namespace anello

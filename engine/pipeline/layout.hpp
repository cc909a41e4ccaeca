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

/// Where the control plane places threads without configured cores. automatic: threads on the data's way get a core
/// each if there are enough cores, all others share the rest. free: the operating system places them.
enum class Placement : std::uint8_t { automatic, free };
/// Priority of threads with a core. realtime: above all normal threads there, if permitted.
enum class Priority : std::uint8_t { usual, realtime };

/// automatic: the control plane decides by the number of free cores; without a control plane the same as sleep.
/// spin_pinned: threads with a core spin, the others sleep.
enum class Waiting : std::uint8_t { automatic, spin, spin_pinned, sleep };

/// The section threads of a chain. A chain derives from it to set its default layout (pipeline/thread_keys.hpp).
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
    std::vector<int> cores{};                ///< by lane; -1 or missing: any core
    bool realtime = false;                   ///< above all normal threads on those cores
    bool spins = false;                      ///< on those cores, independent of the chain's other threads
    bool goes_first = false;                 ///< also above the other real-time threads
    Nanoseconds rest_ns = shortest_rest_ns;  ///< after a step with little work; 0: no rest

    int core(std::uint32_t lane = 0) const noexcept { return lane < cores.size() ? cores[lane] : -1; }
    bool has(std::string_view stage) const { return std::ranges::find(stages, stage) != stages.end(); }
};

/// Reads for example {"receive+build", "trigger", "emit+store"} with cores {0, 1}. Every stage of the chain must be
/// named once, in order. There may be fewer cores than threads; cores beyond the number of threads go to the threads'
/// second lanes, third lanes and so on, in the same order. Throws ConfigError.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/thread.hpp"

namespace anello::pipeline {

enum class Stage : std::uint8_t {
    receive,
    build,
    trigger,
    emit,
    store,
    send,
    generator,
    readout,
    builder,
    manager,
    count
};

/// The stages of a node, in the order of the data's way.
inline constexpr std::array rich_chain{Stage::receive, Stage::build, Stage::trigger, Stage::emit, Stage::store};
inline constexpr std::array camera_chain{Stage::receive, Stage::build, Stage::send};
inline constexpr std::array exchange_chain{Stage::generator, Stage::readout, Stage::builder, Stage::manager};

/// One thread and the stages it serves in turn.
struct ThreadPlan {
    std::string name;  ///< as written, e.g. "receive+build"
    std::vector<Stage> stages;
    int core = -1;
};

/// Reads e.g. {"receive+build", "trigger", "emit+store"} with cores {0, 1}. Every stage of the chain must be named
/// once, in order; cores may be fewer than threads. Throws ConfigError.
std::vector<ThreadPlan> parse_layout(const std::vector<std::string>& layout, const std::vector<int>& cores,
                                     std::span<const Stage> chain = rich_chain);

}  // namespace anello::pipeline

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "memory/persistent_buffers.hpp"
#include "receive/boards/fragment_block.hpp"
#include "receive/boards/receive_config.hpp"
#include "receive/boards/unpacker.hpp"
#include "receive/card/make_backend.hpp"

namespace anello::pipeline {

/// PERF NOTE: threads rest after fewer datagrams than this, since datagrams taken one by one would cost two system
/// calls each (chain_bench, camera_bench).
inline constexpr std::size_t rest_below_datagrams = 16;

/// The work of a step that read n_datagrams: much, unless it read everything there was. Only then does a rest gather
/// more datagrams; otherwise the datagrams waiting in the kernel only become more.
inline std::size_t reading_work(const receive::Backend& backend, std::size_t n_datagrams) noexcept {
    if (n_datagrams == 0 || n_datagrams >= rest_below_datagrams) return n_datagrams;
    for (std::uint16_t stream = 0; stream < backend.n_streams(); ++stream)
        if (!backend.is_read(stream)) return rest_below_datagrams;
    return n_datagrams;
}

struct IntakeConfig {
    receive::BackendConfig backend;                 ///< one stream and board each
    std::uint32_t n_lanes = 1;                      ///< threads that share the boards, each with its own backend
    std::vector<receive::UnpackerMaker> unpackers;  ///< one for each port
    receive::StreamConfig stream;
    std::vector<receive::SourceAddress> sources;  ///< one for each port; empty: the first sender is accepted
    receive::BlockShape shape;
    std::uint32_t n_buffers = 64;
    memory::Kind memory = memory::Kind::host;

    receive::StreamConfig stream_config(std::size_t index) const {
        receive::StreamConfig config = stream;
        if (index < sources.size()) config.source = sources[index];
        return config;
    }
};

/// The text of a notice.
inline std::string ahead_words(std::uint32_t board, std::uint64_t n_fragments) {
    return fmt::format(
        "board {}: {} fragments so far have times or bursts that fewer than half of the boards have reached: they are "
        "not used; check its clock",
        board, n_fragments);
}

inline std::string same_time_words(std::uint32_t board, std::uint64_t n_fragments) {
    return fmt::format(
        "board {}: {} fragments so far have the same time as the previous one: only the first is used; its clock "
        "stands still, or two events share a time stamp",
        board, n_fragments);
}

}  // namespace anello::pipeline

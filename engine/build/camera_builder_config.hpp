// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "build/camera_event.hpp"
#include "memory/persistent_buffers.hpp"
#include "receive/receive_config.hpp"

namespace anello::build {

/// How fragments get into event memory: plain copies, copies that ask for the memory ahead, or stores that pass the
/// cache by. `automatic` copies plainly while the events in use fit into the cache, and beyond that the way that was
/// cheapest at set-up.
enum class CopyMode : std::uint8_t { automatic, plain, ahead, non_temporal };

CopyMode parse_copy_mode(const std::string& text);  ///< auto, plain, ahead, non_temporal. Throws ConfigError.
const char* name_of(CopyMode mode) noexcept;

struct BoardRange {
    std::uint32_t first = 0, count = 0;
    bool contains(std::uint32_t board) const noexcept { return board - first < count; }  // below first wraps around
};

struct CameraBuilderConfig {
    CameraShape shape;        ///< of the whole camera
    std::uint32_t group = 0;  /// which group of boards this is, for the counters' names
    BoardRange boards{0, 265};
    /// Which boards send to which stream (port) of the backend. Empty: all boards of the group to any stream.
    std::vector<BoardRange> stream_boards;
    /// Open events are at most this far apart in number. A power of two.
    std::uint32_t window_events = 64;
    std::uint32_t n_events = 256;  ///< event buffers: open ones and those that consumers hold
    /// An event is handed on this long after its first fragment at the latest. A board that lets others wait for so
    /// long is silent: they go on without it until it sends again.
    Nanoseconds timeout_ns = 20'000'000;
    bool verify_checksum = true;
    CopyMode copy = CopyMode::automatic;
    /// Who sends for board b: sources[b], or its host; unknown parts: the first one that speaks. Empty: all unknown.
    std::vector<receive::SourceAddress> sources;
    bool in_place = false;  ///< predict where the next datagrams belong, see CameraBuilder::promise()
    receive::FullPolicy full_policy = receive::FullPolicy::wait;  ///< wait or drop_new
    memory::Kind memory = memory::Kind::host;

    void validate() const;  ///< Throws ConfigError.
};

/// Boards in equal groups of consecutive boards, the last one maybe smaller: group g of n_groups.
BoardRange boards_of_group(std::uint32_t n_boards, std::uint32_t n_groups, std::uint32_t group) noexcept;

}  // namespace anello::build

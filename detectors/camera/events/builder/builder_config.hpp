// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "camera/events/boards/votes.hpp"
#include "camera/events/event.hpp"
#include "camera/events/intake_choice.hpp"
#include "core/words.hpp"
#include "memory/persistent_buffers.hpp"
#include "receive/boards/receive_config.hpp"

namespace anello::camera {

struct CameraBuilderConfig {
    CameraShape shape;        ///< shape of the whole camera
    std::uint32_t group = 0;  /// number of this group of boards, for the counters' names
    BoardRange boards{0, 265};
    /// The boards that send to each stream (port) of the backend. Empty: any board of the group may send to any stream.
    std::vector<BoardRange> stream_boards;
    // camera_builder_keys says what each of these means.
    std::uint32_t window_events = 64;
    std::uint32_t n_events = 256;
    /// Time-out of an event, from when half of the boards have reached it. A board that the others have waited for this
    /// long is silent: events are built without it until it sends again.
    Nanoseconds timeout_ns = 20'000'000;
    std::uint32_t event_number_bits = 32;
    bool verify_checksum = true;
    CopyMode copy = CopyMode::automatic;
    bool in_place = false;  ///< see CameraBuilder::promise()
    /// sources[b] is the source of board b. Unset parts are taken from the board's first datagram. Empty: all unset.
    std::vector<receive::SourceAddress> sources;
    receive::FullPolicy full_policy = receive::FullPolicy::wait;  ///< only wait or drop_new
    memory::Kind memory = memory::Kind::host;
    /// Shared by the builders of all groups; null: this group's boards vote by themselves.
    std::shared_ptr<CameraVotes> votes = nullptr;

    void validate() const;  ///< Throws ConfigError.
};

extern const Keys<CameraBuilderConfig> camera_builder_keys;

/// Divides boards into equal groups of consecutive boards, the last of which may be smaller. Returns group's boards.
BoardRange boards_of_group(std::uint32_t n_boards, std::uint32_t n_groups, std::uint32_t group) noexcept;

}  // namespace anello::camera

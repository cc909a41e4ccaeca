// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "camera/events/builder/builder.hpp"
#include "camera/events/events.hpp"
#include "camera/events/join_counters.hpp"

namespace anello::camera {

struct CameraJoinerConfig {
    /// A group that the others wait for is silent once it has handed on all that arrived up to this long after the wait
    /// began; events are then joined without it until it hands on a part again.
    Nanoseconds timeout_ns = 40'000'000;
};

/// Joins the groups' parts of each event. Each group hands on its parts in the order of event numbers; an event is
/// handed on without a group once that group has passed it, has ended the run, or is silent. One thread, the builders'
/// consumer, calls all members; it may hold several views at a time.
class CameraJoiner final : public CameraEvents {
  public:
    /// The builders, in the order of their groups, the clock and the page must outlive the joiner. Counters are added
    /// as "join". Throws ConfigError.
    CameraJoiner(const CameraJoinerConfig& config, std::vector<CameraBuilder*> builders, const Clock& clock,
                 CounterPage& page);

    /// Hot path, both: no allocation, no lock, no log, no throw.
    bool try_take(CameraEventView& view) noexcept override;
    /// Gives the view's buffers back to their builders. Call it once for each view.
    void release(const CameraEventView& view) noexcept override;

    const Counters<CameraJoinCounter>& counters() const noexcept { return counters_; }
    /// True if no part waits to be joined: once the builders have finished, all events are handed on. Joiner's thread.
    bool is_empty() const noexcept override;

  private:
    struct Group {
        CameraBuilder* builder = nullptr;
        CameraPart head;
        Nanoseconds handed_on_until_ns = 0;  ///< before the last look for a head
        bool has_head = false;
        bool is_silent = false;
        bool gave_in_run = false;  ///< it has handed on a part of this run
        bool is_behind = false;    ///< it has not reported the end of a run that the others have left
    };

    bool is_in_run(const Group& group) const noexcept {
        return group.has_head && !group.head.end_of_run && group.head.run_id == run_id_ && group.head.turn == turn_;
    }
    bool has_ended(const Group& group) const noexcept {
        return group.has_head && group.head.end_of_run && in_run_ && group.head.run_id == run_id_;
    }
    void take_heads() noexcept;
    bool is_late(const Group& group) const noexcept;
    void drop(Group& group) noexcept;
    bool can_decide() noexcept;
    bool silence_absent(bool also_those_of_this_run) noexcept;
    bool next_number(std::uint32_t& number) const noexcept;
    bool turn_back() noexcept;
    void change_run() noexcept;
    void end_run() noexcept;
    void join(std::uint32_t number, CameraEventView& view) noexcept;
    void add_part(std::uint32_t group_index, CameraEventView& view) noexcept;

    CameraJoinerConfig config_;
    CameraShape shape_;
    std::uint32_t boards_per_group_;
    std::vector<Group> groups_;
    const Clock& clock_;
    Counters<CameraJoinCounter> counters_;
    std::uint32_t run_id_ = 0;
    bool in_run_ = false, has_joined_ = false;
    std::uint32_t last_number_ = 0;                     ///< last event joined in this run and turn, if has_joined_
    std::uint32_t turn_ = 0;                            ///< number of steps back of event numbers so far
    std::int32_t timestamp_votes_ = 0, tag_votes_ = 0;  ///< votes of the event that is being joined
    Nanoseconds waiting_since_ns_ = 0;                  ///< since when a group has no head; 0: not waiting
    std::array<std::uint32_t, 8> gone_runs_{};
    std::size_t n_gone_runs_ = 0;
};

}  // namespace anello::camera

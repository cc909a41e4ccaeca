// SPDX-License-Identifier: Apache-2.0
#include "camera/events/joiner.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/assert.hpp"
#include "core/errors.hpp"

namespace anello::camera {

CameraJoiner::CameraJoiner(const CameraJoinerConfig& config, std::vector<CameraBuilder*> builders, const Clock& clock,
                           CounterPage& page)
    : config_(config), groups_(builders.size()), clock_(clock), counters_(page.add_block<CameraJoinCounter>("join")) {
    if (builders.empty() || builders.size() > max_camera_groups)
        throw ConfigError("camera_build.groups", "must be 1 to 8", std::to_string(builders.size()),
                          "Each group is a thread.");
    if (config.timeout_ns <= 0)
        throw ConfigError("timeout_ns", "must be above 0", std::to_string(config.timeout_ns),
                          "Twice the builders' timeout.");
    shape_ = builders.front()->config().shape;
    boards_per_group_ = builders.front()->config().boards.count;
    std::uint32_t n_boards = 0;
    for (std::size_t i = 0; i < builders.size(); ++i) {
        const BoardRange boards = builders[i]->config().boards;
        if (boards.first != i * boards_per_group_ || boards.count > boards_per_group_)
            throw ConfigError("camera_build.groups", "equal groups of consecutive boards, the last maybe smaller",
                              std::to_string(boards.first), "Use boards_of_group().");
        groups_[i].builder = builders[i];
        n_boards += boards.count;
    }
    if (n_boards != shape_.n_boards)
        throw ConfigError("camera_build.groups", "the groups together are the camera", std::to_string(n_boards),
                          "Use boards_of_group().");
}

// Hot path from here on: no allocation, no lock, no log, no throw.
bool CameraJoiner::try_take(CameraEventView& view) noexcept {
    for (int n_steps = 0; n_steps < 4; ++n_steps) {  // at most: the end of a run, the begin of the next, an event
        take_heads();
        if (!can_decide()) return false;
        std::uint32_t number = 0;
        if (in_run_ && next_number(number)) {
            join(number, view);
            return true;
        }
        if (!in_run_ || !turn_back()) change_run();
    }
    return false;
}

void CameraJoiner::take_heads() noexcept {
    for (Group& group : groups_) {
        group.handed_on_until_ns = group.builder->output().handed_on_until_ns();
        while (!group.has_head && group.builder->output().try_take(group.head)) {
            if (!group.head.end_of_run) counters_.add(CameraJoinCounter::parts_in);
            group.is_silent = false;
            group.has_head = !is_late(group);
            if (group.has_head) group.is_behind = false;
            if (!group.has_head) drop(group);
        }
    }
}

/// A part of a past run is late, unless its group has reported that run's end: then the run begins again.
bool CameraJoiner::is_late(const Group& group) const noexcept {
    const CameraPart& part = group.head;
    if (in_run_ && part.run_id == run_id_) {
        if (part.end_of_run || part.turn > turn_) return false;
        return part.turn < turn_ || (has_joined_ && !is_before(last_number_, part.event_number));
    }
    if (!group.is_behind) return false;
    const auto end = gone_runs_.begin() + static_cast<std::ptrdiff_t>(std::min(n_gone_runs_, gone_runs_.size()));
    return std::find(gone_runs_.begin(), end, part.run_id) != end;
}

void CameraJoiner::drop(Group& group) noexcept {
    if (group.head.end_of_run) return;
    counters_.add(CameraJoinCounter::parts_late);
    counters_.add(CameraJoinCounter::fragments_late, group.head.n_present);
    group.builder->output().give_back(group.head.buffer);
}

/// True if every group has a next part or is silent. A group that has given a part of this run will at least report its
/// end: the joiner waits for it without a time-out, unless events wait.
bool CameraJoiner::can_decide() noexcept {
    bool one_is_absent = false, one_waits = false, a_stranger_is_absent = false;
    for (const Group& group : groups_) {
        const bool is_absent = !group.has_head && !group.is_silent;
        one_is_absent |= is_absent;
        a_stranger_is_absent |= is_absent && !group.gave_in_run;
        one_waits |= group.has_head && !has_ended(group);
    }
    const bool all_ended =
        !one_waits && std::any_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.has_head; });
    if (!one_is_absent || !(one_waits || (all_ended && a_stranger_is_absent))) {
        waiting_since_ns_ = 0;
        return !one_is_absent && (one_waits || all_ended);
    }
    if (waiting_since_ns_ == 0) waiting_since_ns_ = clock_.monotonic_ns();
    if (!silence_absent(one_waits)) return false;
    waiting_since_ns_ = 0;
    return true;
}

/// Marks groups without a part as silent after the time-out. False while one of them may still hand on a part.
bool CameraJoiner::silence_absent(bool also_those_of_this_run) noexcept {
    bool all_silent = true;
    for (Group& group : groups_) {
        if (group.has_head || group.is_silent || (group.gave_in_run && !also_those_of_this_run)) continue;
        group.is_silent = group.handed_on_until_ns - waiting_since_ns_ >= config_.timeout_ns;
        all_silent = all_silent && group.is_silent;
        if (group.is_silent) counters_.add(CameraJoinCounter::groups_silenced);
    }
    return all_silent;
}

/// Finds the lowest next event number of this run among the groups; false if no group has one.
bool CameraJoiner::next_number(std::uint32_t& number) const noexcept {
    bool found = false;
    for (const Group& group : groups_) {
        if (!is_in_run(group)) continue;
        if (!found || is_before(group.head.event_number, number)) number = group.head.event_number;
        found = true;
    }
    return found;
}

/// Call it if no group has an event of this turn: begins the next turn of numbers that stepped back. False: none.
bool CameraJoiner::turn_back() noexcept {
    bool found = false;
    std::uint32_t next = 0;
    for (const Group& group : groups_) {
        if (!group.has_head || group.head.end_of_run || group.head.run_id != run_id_ || group.head.turn <= turn_)
            continue;
        next = found ? std::min(next, group.head.turn) : group.head.turn;
        found = true;
    }
    if (!found) return false;
    turn_ = next;
    has_joined_ = false;
    return true;
}

/// Call it if no group has an event of this run: ends the run or, between runs, begins the next one.
void CameraJoiner::change_run() noexcept {
    if (in_run_) return end_run();
    for (const Group& group : groups_) {
        if (!group.has_head || (in_run_ && !is_before(group.head.run_id, run_id_))) continue;
        run_id_ = group.head.run_id;
        in_run_ = true;
    }
    has_joined_ = false;
    for (Group& group : groups_) group.gave_in_run = group.has_head && group.head.run_id == run_id_;
}

void CameraJoiner::end_run() noexcept {
    bool was_run = false;
    for (Group& group : groups_) {
        group.is_behind |= !has_ended(group);
        if (!has_ended(group)) continue;
        was_run |= !group.head.is_outvoted;
        group.has_head = false;
    }
    in_run_ = false;
    gone_runs_[n_gone_runs_++ % gone_runs_.size()] = run_id_;
    counters_.add(was_run ? CameraJoinCounter::runs_ended : CameraJoinCounter::runs_outvoted);
}

void CameraJoiner::join(std::uint32_t number, CameraEventView& view) noexcept {
    view = {};
    view.run_id = run_id_;
    view.event_number = number;
    view.shape = shape_;
    view.boards_per_group = boards_per_group_;
    timestamp_votes_ = tag_votes_ = 0;
    for (std::uint32_t i = 0; i < groups_.size(); ++i)
        if (is_in_run(groups_[i]) && groups_[i].head.event_number == number) add_part(i, view);
    has_joined_ = true;
    last_number_ = number;
    counters_.add(CameraJoinCounter::events_out);
    counters_.add(view.is_complete() ? CameraJoinCounter::events_complete : CameraJoinCounter::events_incomplete);
    counters_.add(CameraJoinCounter::fragments, view.n_present);
}

void CameraJoiner::add_part(std::uint32_t group_index, CameraEventView& view) noexcept {
    Group& group = groups_[group_index];
    const CameraPart& part = group.head;
    const bool is_first = view.n_present == 0;
    if (is_first) view.timestamp_ns = part.timestamp_ns;
    vote(view.timestamp_ns, timestamp_votes_, part.timestamp_ns, part.timestamp_votes, is_same_time);
    vote(view.trigger_tag, tag_votes_, part.trigger_tag, part.tag_votes);
    view.base[group_index] = group.builder->output().event(part.buffer).data();
    view.present.add_all(group.builder->output().present(part.buffer));
    view.n_present += part.n_present;
    view.first_ns = is_first ? part.first_ns : std::min(view.first_ns, part.first_ns);
    view.closed_ns = std::max(view.closed_ns, part.closed_ns);
    group.gave_in_run = true;
    group.has_head = false;
    counters_.add(CameraJoinCounter::parts_joined);
}

void CameraJoiner::release(const CameraEventView& view) noexcept {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        if (view.base[i] == nullptr) continue;
        CameraBuilder& builder = *groups_[i].builder;
        builder.output().give_back(builder.output().buffer_of(view.base[i]));
    }
}

bool CameraJoiner::is_empty() const noexcept {
    return std::none_of(groups_.begin(), groups_.end(),
                        [](const Group& group) { return group.has_head || group.builder->output().has_parts(); });
}

}  // namespace anello::camera

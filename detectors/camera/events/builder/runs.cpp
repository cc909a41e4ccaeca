// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/runs.hpp"

#include <algorithm>

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

void CameraRuns::begin(CameraPosition at) noexcept {
    OpenEvents& events = placer_.events();
    for (std::uint32_t i = 0; i < placer_.boards().count(); ++i) begin_of_board(i, at.run_id);
    events.run().id = at.run_id;
    events.run().has_begun = true;
    events.run().is_over = false;
    events.window().begin_at(at.event_number);
    events.window().forget_floor();
    ending_since_ns_ = 0;
    placer_.votes().begin_position(at);
    counters_.add(CameraBuildCounter::runs_begun);
}

void CameraRuns::begin_of_board(std::uint32_t board_index, std::uint32_t run_id) noexcept {
    CameraBoard& board = placer_.boards()[board_index];
    if (board.wait().state == events::BoardState::ended) placer_.set_wait(board_index, {});
    GroupVotes& votes = placer_.votes();
    if (votes.vote(board_index) == BoardVote::in_step) votes.set_vote(board_index, BoardVote::nothing);
    placer_.boards().sequence(board_index).begin_run(board, run_id);
}

bool CameraRuns::leave() noexcept {
    OpenEvents& events = placer_.events();
    const BuildRun& run = events.run();
    const bool is_confirmed = placer_.votes().was_confirmed();
    if (!run.is_over && !is_confirmed && !events.window().has_floor())
        placer_.discard_open(CameraBuildCounter::fragments_other_run, CameraBoardCounter::other_run);
    else if (!run.is_over && !events.end_run(!is_confirmed))
        return false;
    if (is_confirmed) gone_[n_gone_++ % gone_.size()] = run.id;
    return true;
}

void CameraRuns::end_if_over() noexcept {
    if (placer_.boards().n_ended() > 0 && is_over()) placer_.events().run().is_over = placer_.events().end_run(false);
}

/// True if every board has ended and all announced fragments have arrived: what an open event lacks was never sent. Or
/// if each board has ended or is silent, and for a timeout no event was open.
bool CameraRuns::is_over() noexcept {
    GroupBoards& boards = placer_.boards();
    const bool was_over = placer_.events().run().is_over;
    if (!was_over && placer_.votes().hold().total() == 0 && boards.have_sent_all()) return true;
    if (was_over || boards.n_live() > 0 || placer_.events().window().has_open()) {
        ending_since_ns_ = 0;
        return false;
    }
    const BuildTimes& times = placer_.events().times();
    if (ending_since_ns_ == 0) ending_since_ns_ = times.now_ns;
    return times.input_ns - ending_since_ns_ >= timeout_ns_;
}

bool CameraRuns::is_gone(std::uint32_t run_id) const noexcept {
    const auto end = gone_.begin() + static_cast<std::ptrdiff_t>(std::min(n_gone_, gone_.size()));
    return std::find(gone_.begin(), end, run_id) != end;
}

bool CameraRuns::is_back(CameraPosition at) noexcept {
    OpenEvents& events = placer_.events();
    if (at.run_id != events.run().id) return is_gone(at.run_id);
    return is_before(at.event_number, events.window().base()) &&
           (events.window().has_floor() || placer_.votes().is_confirmed());
}

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/moves.hpp"

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

void CameraMoves::use_marker_of_other_run(const Header& header, std::span<const std::byte> bytes) noexcept {
    const GroupVotes& votes = placer_.votes();
    const std::uint32_t index = placer_.boards().index_of(header.board);
    const bool begins = (header.flags & wire::camera::start_of_run) != 0;
    const CameraPosition claim = votes.claim_of(index);
    const bool is_claimed = votes.is_elsewhere(index) && claim.run_id == header.run_id;
    if (!begins && !is_claimed) return;
    const std::uint32_t number =
        is_claimed ? claim.event_number : placer_.events().totals_of(header, bytes).first_event;
    held_.claim(index, {header.run_id, number});
    held_.hold(header, bytes, false);
    decide({header.run_id, number});
}

/// True if the window will reach the position by itself, or has passed it.
bool CameraMoves::is_near(CameraPosition at) const noexcept {
    const CameraWindow& window = placer_.events().window();
    return at.run_id == placer_.events().run().id &&
           at.event_number - window.base() + window.size() < 3 * window.size();
}

void CameraMoves::decide(CameraPosition at) noexcept {
    if (held_.is_settling() || is_near(at)) return;
    const BuildRun& run = placer_.events().run();
    GroupVotes& votes = placer_.votes();
    const bool back = runs_.is_back(at);
    // Another group at an earlier position of ours may only lag, unless the camera has stepped back since.
    const bool may_lag = back && at.run_id == run.id && votes.of_all().turn() == run.turn;
    const CameraVotes::Count there = votes.count_for(at, {.lasts_ns = back ? timeout_ns_ : 0, .claims_only = may_lag});
    const bool is_more = !votes.is_confirmed() && !back && there.n_for > votes.n_in_step();
    if (there.is_majority() || is_more) move_to(at);
}

void CameraMoves::move_to(CameraPosition at) noexcept {
    const CameraPosition to = placer_.votes().earliest_of(at);
    if (at.run_id == placer_.events().run().id) {
        move_window(to);
    } else {
        if (!runs_.leave()) return;
        runs_.begin(to);
    }
    placer_.votes().take_in_step(at);
    held_.settle();
}

void CameraMoves::move_window(CameraPosition to) noexcept {
    OpenEvents& events = placer_.events();
    CameraWindow& window = events.window();
    GroupVotes& votes = placer_.votes();
    counters_.add(CameraBuildCounter::windows_moved);
    if (!votes.was_confirmed() && !window.has_floor())
        placer_.discard_open(CameraBuildCounter::fragments_ahead, CameraBoardCounter::ahead);
    else
        events.hand_on_all(EventEnd::pushed_out);
    if (window.has_floor() && is_before(to.event_number, window.base())) {
        votes.of_all().turn_from(events.run().turn);
        events.run().turn = votes.of_all().turn();
        window.forget_floor();
    }
    window.begin_at(to.event_number);
    for (std::uint32_t i = 0; i < placer_.boards().count(); ++i)
        if (votes.vote(i) == BoardVote::in_step) votes.set_vote(i, BoardVote::nothing);
    votes.begin_position({events.run().id, to.event_number});
}

void CameraMoves::watch_votes() noexcept {
    GroupVotes& votes = placer_.votes();
    const Nanoseconds input_ns = placer_.events().times().input_ns;
    const Nanoseconds asked_ns = votes.of_all().asked_ns(), patience = placer_.patience_ns();
    if (asked_ns != 0 && asked_ns != answered_ns_ && input_ns - asked_ns >= patience) {
        answered_ns_ = asked_ns;
        silence_unheard(asked_ns - patience);
    }
    if (votes.n_elsewhere() == 0 || input_ns - weighed_ns_ < timeout_ns_) return;
    weighed_ns_ = input_ns;
    for (std::uint32_t i = 0; i < placer_.boards().count(); ++i) {
        if (votes.is_elsewhere(i)) decide(votes.claim_of(i));
        votes.show_outvoted(i, weighed_ns_, timeout_ns_);
    }
}

/// A board asked for a move: boards that were quiet long before and since then have no vote in it.
void CameraMoves::silence_unheard(Nanoseconds since_ns) noexcept {
    GroupVotes& votes = placer_.votes();
    for (std::uint32_t i = 0; i < placer_.boards().count(); ++i) {
        if (votes.vote(i) == BoardVote::silent || votes.was_heard_since(i, since_ns)) continue;
        votes.set_vote(i, BoardVote::silent);
        if (placer_.boards()[i].is_live()) placer_.set_wait(i, {events::BoardState::silent});
    }
    placer_.events().hand_on_ready();
}

}  // namespace anello::camera

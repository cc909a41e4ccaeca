// SPDX-License-Identifier: Apache-2.0
#include "camera/events/boards/group_votes.hpp"

#include <algorithm>
#include <utility>

namespace anello::camera {

GroupVotes::GroupVotes(std::shared_ptr<CameraVotes> votes, std::uint32_t group, std::uint32_t window_events,
                       std::size_t slot_bytes, GroupBoards& boards)
    : votes_(std::move(votes)),
      group_(group),
      window_events_(window_events),
      boards_(boards),
      hold_(boards.count(), window_events, slot_bytes),
      voters_(std::make_unique<Voter[]>(boards.count())) {
    for (std::uint32_t i = 0; i < boards.count(); ++i) votes_->enrol(boards.number_of(i), group);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
void GroupVotes::set_vote(std::uint32_t board_index, BoardVote vote) noexcept {
    Voter& voter = voters_[board_index];
    if (voter.vote == BoardVote::in_step) is_confirmed();  // checked now, before the first board leaves
    n_elsewhere_ += (vote == BoardVote::elsewhere ? 1U : 0U) - (voter.vote == BoardVote::elsewhere ? 1U : 0U);
    voter.vote = vote;
    note_held(board_index);
    if (vote == BoardVote::elsewhere) return;  // claim() publishes this vote
    voter.is_outvoted.store(false, std::memory_order_relaxed);
    votes_->set_vote(boards_.number_of(board_index), vote);
}

void GroupVotes::claim(std::uint32_t board_index, CameraPosition at, Nanoseconds now_ns,
                       Nanoseconds patience_ns) noexcept {
    Voter& voter = voters_[board_index];
    const bool is_same = voter.vote == BoardVote::elsewhere && votes_->agree(voter.claim, at);
    if (!is_same) voter.claimed_since_ns = now_ns;
    voter.claim = at;
    voter.claimed_ns = now_ns;
    voter.shown_claim.store(CameraVotes::packed(at), std::memory_order_relaxed);
    if (voter.vote != BoardVote::elsewhere) set_vote(board_index, BoardVote::elsewhere);
    votes_->claim(boards_.number_of(board_index), at, now_ns - voter.claimed_since_ns);
    if (votes_->asked_ns() == 0 || now_ns - votes_->asked_ns() > 2 * patience_ns) votes_->ask(now_ns);
}

void GroupVotes::take_in_step(CameraPosition at) noexcept {
    for (std::uint32_t i = 0; i < boards_.count(); ++i)
        if (is_elsewhere(i) && votes_->agree(voters_[i].claim, at)) set_vote(i, BoardVote::in_step);
}

bool GroupVotes::was_heard_since(std::uint32_t board_index, Nanoseconds since_ns) const noexcept {
    const Nanoseconds seen_ns = boards_[board_index].last_seen_ns.load(std::memory_order_relaxed);
    return std::max(seen_ns, voters_[board_index].claimed_ns) >= since_ns;
}

void GroupVotes::show_outvoted(std::uint32_t board_index, Nanoseconds input_ns, Nanoseconds timeout_ns) noexcept {
    Voter& voter = voters_[board_index];
    const bool is_outvoted = is_elsewhere(board_index) && input_ns - voter.claimed_since_ns >= timeout_ns;
    voter.is_outvoted.store(is_outvoted, std::memory_order_relaxed);
}

bool GroupVotes::is_confirmed() noexcept {
    if (!is_confirmed_) is_confirmed_ = 2 * n_in_step() > votes_->n_voters();
    return is_confirmed_;
}

void GroupVotes::begin_position(CameraPosition at) noexcept {
    is_confirmed_ = false;
    set_position(at);
}

bool GroupVotes::have_reached(std::uint32_t number, std::uint32_t board_index) const noexcept {
    std::uint32_t n_there = 0, n_voters = 0;
    for (std::uint32_t i = 0; i < boards_.count(); ++i) {
        if (voters_[i].vote == BoardVote::silent && i != board_index) continue;
        ++n_voters;
        const std::uint32_t n_held = hold_.size(i);
        std::uint32_t newest = boards_[i].newest_event;
        bool has_event = boards_[i].has_event;
        if (n_held > 0 && hold_.at(i, n_held - 1).is_followed) {
            newest = hold_.at(i, n_held - 1).header.event_number;
            has_event = true;
        }
        const bool is_there = has_event && newest - number < 2 * window_events_;
        n_there += is_there || i == board_index ? 1 : 0;
    }
    return 2 * n_there >= n_voters;
}

CameraPosition GroupVotes::earliest_of(CameraPosition at) const noexcept {
    CameraPosition earliest = at;
    const auto consider = [&](CameraPosition position) {
        if (votes_->agree(position, at) && is_before(position.event_number, earliest.event_number)) earliest = position;
    };
    for (std::uint32_t i = 0; i < boards_.count(); ++i) {
        if (!is_elsewhere(i) || !votes_->agree(voters_[i].claim, at)) continue;
        consider(voters_[i].claim);
        for (std::uint32_t k = 0; k < hold_.size(i); ++k) {
            const wire::camera::Header& header = hold_.at(i, k).header;
            if (!header.is_marker()) consider({header.run_id, header.event_number});
        }
    }
    return earliest;
}

void GroupVotes::note_held(std::uint32_t board_index) noexcept {
    boards_[board_index].is_apart = vote(board_index) != BoardVote::in_step || hold_.size(board_index) > 0;
}

void GroupVotes::add_claim(std::uint32_t board_index, CameraBoardStatus& status) const noexcept {
    const Voter& voter = voters_[board_index];
    status.is_outvoted = voter.is_outvoted.load(std::memory_order_relaxed);
    status.claim = CameraVotes::unpacked(voter.shown_claim.load(std::memory_order_relaxed));
}

}  // namespace anello::camera

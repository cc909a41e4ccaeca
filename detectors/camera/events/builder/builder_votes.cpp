// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "camera/events/builder/builder.hpp"

/// Fragments of another run or of a far event number: they are held until most boards are there, too; then the
/// builder moves there. Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

void CameraBuilder::say(std::uint32_t board_index, BoardVote vote) noexcept {
    CameraBoardHistory& history = histories_[board_index];
    if (history.vote == BoardVote::in_step) is_confirmed();  // checked now, before the first board leaves
    n_elsewhere_ += (vote == BoardVote::elsewhere ? 1U : 0U) - (history.vote == BoardVote::elsewhere ? 1U : 0U);
    history.vote = vote;
    boards_[board_index].is_apart = vote != BoardVote::in_step || hold_.size(board_index) > 0;
    if (vote == BoardVote::elsewhere) return;  // claim() publishes this vote
    history.is_outvoted.store(false, std::memory_order_relaxed);
    votes_->say(config_.boards.first + board_index, vote);
}

void CameraBuilder::claim(std::uint32_t board_index, CameraPosition at) noexcept {
    CameraBoardHistory& history = histories_[board_index];
    const bool goes_on = history.vote == BoardVote::elsewhere && votes_->agree(history.claim, at);
    if (!goes_on) history.claimed_since_ns = now_ns_;
    history.claim = at;
    history.claimed_ns = now_ns_;
    history.shown_claim.store(CameraVotes::packed(at), std::memory_order_relaxed);
    if (history.vote != BoardVote::elsewhere) say(board_index, BoardVote::elsewhere);
    votes_->claim(config_.boards.first + board_index, at, now_ns_ - history.claimed_since_ns);
    if (votes_->asked_ns() == 0 || now_ns_ - votes_->asked_ns() > 2 * patience_ns()) votes_->ask(now_ns_);
}

/// The builder follows a step back only after boards have claimed it for a timeout, which late fragments do not do.
/// Fragments of a step back are not held.
void CameraBuilder::speak_from_elsewhere(const Header& header, std::span<const std::byte> bytes,
                                         bool is_followed) noexcept {
    const CameraPosition at{header.run_id, header.event_number};
    claim(index_of(header), at);
    if (!is_back(at))
        hold(header, bytes, is_followed);
    else if (is_followed)
        drop_late(header);
    else
        drop_unused(header);
    decide(at);
}

void CameraBuilder::hold(const Header& header, std::span<const std::byte> bytes, bool is_followed) noexcept {
    const std::uint32_t index = index_of(header);
    if (hold_.is_full(index)) drop_held(index, 0);
    hold_.put(index, header, bytes, is_followed);
    boards_[index].is_apart = true;
}

void CameraBuilder::drop_held(std::uint32_t board_index, std::uint32_t i) noexcept {
    const CameraHold::Datagram& held = hold_.at(board_index, i);
    if (held.is_followed)
        drop(held.header, CameraBuildCounter::fragments_ahead, CameraBoardCounter::ahead);
    else if (!held.header.is_marker())
        drop_unused(held.header);
    hold_.remove(board_index, i);
}

/// Drops a fragment of another run. If that run begins, the fragment does not count as lost.
void CameraBuilder::drop_unused(const Header& header) noexcept {
    drop(header, CameraBuildCounter::fragments_other_run, CameraBoardCounter::other_run);
    note_unused(index_of(header), header.run_id);
}

void CameraBuilder::note_unused(std::uint32_t board_index, std::uint32_t run_id) noexcept {
    CameraBoardHistory& history = histories_[board_index];
    if (history.unused_run != run_id) history.n_unused = 0;
    history.unused_run = run_id;
    ++history.n_unused;
}

/// True once most boards have been in step since the window was placed.
bool CameraBuilder::is_confirmed() noexcept {
    if (!is_confirmed_)
        is_confirmed_ = 2 * votes_->n_in_step(config_.group) > votes_->count({run_id_, base_}, config_.group).n_voters;
    return is_confirmed_;
}

bool CameraBuilder::is_back(CameraPosition at) noexcept {
    if (at.run_id != run_id_) return is_gone(at.run_id);
    return is_before(at.event_number, base_) && (has_floor_ || is_confirmed());
}

/// Moves to the position `at` if most boards are there or, until most boards are in step here, more than are in step.
void CameraBuilder::decide(CameraPosition at) noexcept {
    const bool is_near =
        at.run_id == run_id_ && at.event_number - base_ + config_.window_events < 3 * config_.window_events;
    if (is_settling_ || is_near) return;  // the window will reach it by itself, or has passed it
    const bool back = is_back(at);
    // Another group at an earlier position of ours may only lag, unless the camera has stepped back since.
    const bool may_lag = back && at.run_id == run_id_ && votes_->turn() == turn_;
    const CameraVotes::Count there =
        votes_->count(at, config_.group, {.lasts_ns = back ? config_.timeout_ns : 0, .claims_only = may_lag});
    const bool is_more = !is_confirmed() && !back && there.n_for > votes_->n_in_step(config_.group);
    if (there.is_majority() || is_more) move_to(at);
}

void CameraBuilder::move_to(CameraPosition at) noexcept {
    const CameraPosition to = earliest_of(at);
    if (at.run_id == run_id_) {
        move_window(to);
    } else {
        if (!leave_run()) return;
        begin_run(to);
    }
    take_in_step(at);
    settle();
}

void CameraBuilder::move_window(CameraPosition to) noexcept {
    counters_.add(CameraBuildCounter::windows_moved);
    if (!is_confirmed_ && !has_floor_)
        discard_open(CameraBuildCounter::fragments_ahead, CameraBoardCounter::ahead);
    else
        hand_on_all(EventEnd::pushed_out);
    if (has_floor_ && is_before(to.event_number, base_)) {
        votes_->turn_from(turn_);
        turn_ = votes_->turn();
        has_floor_ = false;
    }
    release_reserved(base_, config_.window_events);
    base_ = to.event_number;
    is_fresh_ = true;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i)
        if (histories_[i].vote == BoardVote::in_step) say(i, BoardVote::nothing);
    is_confirmed_ = false;
    stand(base_);
}

/// The earliest event that the boards at this position claim.
CameraPosition CameraBuilder::earliest_of(CameraPosition at) const noexcept {
    CameraPosition earliest = at;
    const auto consider = [&](CameraPosition position) {
        if (votes_->agree(position, at) && is_before(position.event_number, earliest.event_number)) earliest = position;
    };
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        if (histories_[i].vote != BoardVote::elsewhere || !votes_->agree(histories_[i].claim, at)) continue;
        consider(histories_[i].claim);
        for (std::uint32_t k = 0; k < hold_.size(i); ++k) {
            const Header& header = hold_.at(i, k).header;
            if (!header.is_marker()) consider({header.run_id, header.event_number});
        }
    }
    return earliest;
}

void CameraBuilder::take_in_step(CameraPosition at) noexcept {
    for (std::uint32_t i = 0; i < config_.boards.count; ++i)
        if (histories_[i].vote == BoardVote::elsewhere && votes_->agree(histories_[i].claim, at))
            say(i, BoardVote::in_step);
}

/// Discards the open events: fragments that a few boards sent before the others agreed become no event.
void CameraBuilder::discard_open(CameraBuildCounter group_counter, CameraBoardCounter board_counter) noexcept {
    for (Place& place : places_) {
        if (place.room != Room::open) continue;
        counters_.set(CameraBuildCounter::fragments_placed,
                      counters_[CameraBuildCounter::fragments_placed] - place.n_present);
        counters_.add(group_counter, place.n_present);
        for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
            if (!place.present->contains(config_.boards.first + i)) continue;
            --boards_[i].n_placed;
            board_counters_[i].add(board_counter);
            if (group_counter == CameraBuildCounter::fragments_other_run) note_unused(i, run_id_);
        }
        place.room = Room::empty;
        spare_[n_spare_++] = place.buffer;
        --n_open_;
    }
}

/// A board has reached the position of its group: its held fragments are used as far as they fit.
void CameraBuilder::come_in(std::uint32_t board_index) noexcept {
    if (histories_[board_index].vote != BoardVote::in_step) say(board_index, BoardVote::in_step);
    if (!is_settling_) settle(board_index);
}

void CameraBuilder::settle() noexcept {
    for (std::uint32_t i = 0; i < config_.boards.count && hold_.total() > 0; ++i) settle(i);
}

void CameraBuilder::settle(std::uint32_t board_index) noexcept {
    is_settling_ = true;
    for (std::uint32_t i = 0; i < hold_.size(board_index);) {
        if (!follow_held(board_index, i)) continue;
        const CameraHold::Datagram held = hold_.at(board_index, i);
        const HeldAction action = action_for(held, board_index);
        if (action == HeldAction::keep) {
            ++i;
        } else if (action == HeldAction::drop) {
            drop_held(board_index, i);
        } else {
            hold_.remove(board_index, i);
            use_held(held);
        }
    }
    is_settling_ = false;
    boards_[board_index].is_apart = histories_[board_index].vote != BoardVote::in_step || hold_.size(board_index) > 0;
}

/// Puts a held fragment of a run that has begun into the board's sequence. False: it is a repetition, and is dropped.
bool CameraBuilder::follow_held(std::uint32_t board_index, std::uint32_t i) noexcept {
    const CameraHold::Datagram& held = hold_.at(board_index, i);
    if (held.is_followed || held.header.is_marker() || held.header.run_id != run_id_) return true;
    hold_.mark_followed(board_index, i);
    if (follow(held.header)) return true;
    drop_repeated(held.header, held.bytes);
    hold_.remove(board_index, i);
    return false;
}

CameraBuilder::HeldAction CameraBuilder::action_for(const CameraHold::Datagram& held,
                                                    std::uint32_t board_index) noexcept {
    const CameraBoardHistory& history = histories_[board_index];
    const CameraPosition at{held.header.run_id, held.header.event_number};
    const bool is_claimed = history.vote == BoardVote::elsewhere && history.claim.run_id == at.run_id;
    if (at.run_id != run_id_) return is_claimed ? HeldAction::keep : HeldAction::drop;
    if (held.header.is_marker()) return HeldAction::place;
    if (run_over_) return HeldAction::drop;
    const std::uint32_t window = config_.window_events, ahead = at.event_number - base_;
    if (ahead < window && place_of(at.event_number).room == Room::empty) {
        take_free();
        return n_spare_ > 0 || config_.full_policy != receive::FullPolicy::wait ? HeldAction::place : HeldAction::keep;
    }
    if (ahead < window || base_ - at.event_number <= window) return HeldAction::place;
    return ahead < 2 * window || (is_claimed && votes_->agree(history.claim, at)) ? HeldAction::keep : HeldAction::drop;
}

void CameraBuilder::use_held(const CameraHold::Datagram& held) noexcept {
    if (held.header.is_marker()) return on_marker_of_run(held.header, held.bytes);
    put(held.header, held.bytes);
}

void CameraBuilder::watch_votes() noexcept {
    const Nanoseconds asked_ns = votes_->asked_ns(), patience = patience_ns();
    if (asked_ns != 0 && asked_ns != answered_ns_ && input_ns_ - asked_ns >= patience) {
        answered_ns_ = asked_ns;
        silence_unheard(asked_ns - patience);
    }
    if (n_elsewhere_ == 0 || input_ns_ - weighed_ns_ < config_.timeout_ns) return;
    weighed_ns_ = input_ns_;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        CameraBoardHistory& history = histories_[i];
        if (history.vote == BoardVote::elsewhere) decide(history.claim);
        const bool is_outvoted =
            history.vote == BoardVote::elsewhere && weighed_ns_ - history.claimed_since_ns >= config_.timeout_ns;
        history.is_outvoted.store(is_outvoted, std::memory_order_relaxed);
    }
}

/// A board asked for a move: boards that were quiet long before and since then have no vote in it.
void CameraBuilder::silence_unheard(Nanoseconds since_ns) noexcept {
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        const CameraBoardHistory& history = histories_[i];
        const Nanoseconds seen_ns = boards_[i].last_seen_ns.load(std::memory_order_relaxed);
        if (history.vote == BoardVote::silent || std::max(seen_ns, history.claimed_ns) >= since_ns) continue;
        say(i, BoardVote::silent);
        if (boards_[i].state.load(std::memory_order_relaxed) == events::BoardState::live)
            set_state(i, events::BoardState::silent, 0);
    }
    hand_on_ready();
}

}  // namespace anello::camera

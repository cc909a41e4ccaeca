// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/held_fragments.hpp"

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

bool HeldFragments::react(CameraPlacer::Outcome outcome, const Header& header,
                          std::span<const std::byte> bytes) noexcept {
    if (outcome == CameraPlacer::Outcome::ahead) hold(header, bytes, true);
    if (outcome != CameraPlacer::Outcome::elsewhere) return false;
    claim(header, bytes, true);
    return true;
}

void HeldFragments::use_marker(const Header& header, std::span<const std::byte> bytes) noexcept {
    GroupBoards& boards = placer_.boards();
    const std::uint32_t index = boards.index_of(header.board);
    const wire::camera::Totals totals = placer_.events().totals_of(header, bytes);
    boards.sequence(index).announce(boards[index], header.sequence, totals);
    if ((header.flags & wire::camera::start_of_run) != 0) {
        placer_.note_seen(index, totals.first_event);
    } else {
        placer_.set_wait(index, {events::BoardState::ended, totals.next_event});
        receive::SourceWatch::begin_trial(boards[index].source);
    }
    if (boards[index].is_apart) join(index);
    placer_.events().hand_on_ready();
}

/// The builder follows a step back only after boards have claimed it for a timeout, which late fragments do not do.
/// Fragments of a step back are not held.
void HeldFragments::claim(const Header& header, std::span<const std::byte> bytes, bool is_followed) noexcept {
    const CameraPosition at{header.run_id, header.event_number};
    claim(placer_.boards().index_of(header.board), at);
    if (!runs_.is_back(at))
        hold(header, bytes, is_followed);
    else if (is_followed)
        placer_.drops().drop_late(header);
    else
        placer_.drops().drop_unused(header);
}

void HeldFragments::claim(std::uint32_t board_index, CameraPosition at) noexcept {
    placer_.votes().claim(board_index, at, placer_.events().times().now_ns, placer_.patience_ns());
}

void HeldFragments::hold(const Header& header, std::span<const std::byte> bytes, bool is_followed) noexcept {
    const std::uint32_t index = placer_.boards().index_of(header.board);
    if (hold_.is_full(index)) placer_.drops().drop_held(index, 0);
    hold_.put(index, header, bytes, is_followed);
    placer_.votes().note_held(index);
}

void HeldFragments::drop_all() noexcept {
    for (std::uint32_t i = 0; i < placer_.boards().count(); ++i) drop_all_of(i);
}

void HeldFragments::drop_all_of(std::uint32_t board_index) noexcept {
    while (hold_.size(board_index) > 0) placer_.drops().drop_held(board_index, 0);
}

void HeldFragments::disown(std::uint32_t board_index) noexcept {
    drop_all_of(board_index);
    GroupVotes& votes = placer_.votes();
    if (votes.is_elsewhere(board_index)) votes.set_vote(board_index, BoardVote::nothing);
}

/// A board has reached the position of its group: its held fragments are used as far as they fit.
void HeldFragments::join(std::uint32_t board_index) noexcept {
    GroupVotes& votes = placer_.votes();
    if (votes.vote(board_index) != BoardVote::in_step) votes.set_vote(board_index, BoardVote::in_step);
    if (!is_settling_) settle(board_index);
}

void HeldFragments::settle() noexcept {
    for (std::uint32_t i = 0; i < placer_.boards().count() && hold_.total() > 0; ++i) settle(i);
}

void HeldFragments::settle(std::uint32_t board_index) noexcept {
    is_settling_ = true;
    for (std::uint32_t i = 0; i < hold_.size(board_index);) {
        if (!follow(board_index, i)) continue;
        const CameraHold::Datagram held = hold_.at(board_index, i);
        const Action action = action_for(held, board_index);
        if (action == Action::keep) {
            ++i;
        } else if (action == Action::drop) {
            placer_.drops().drop_held(board_index, i);
        } else {
            hold_.remove(board_index, i);
            use(held);
        }
    }
    is_settling_ = false;
    placer_.votes().note_held(board_index);
}

/// Puts a held fragment of a run that has begun into the board's sequence. False: it is a repetition, and is dropped.
bool HeldFragments::follow(std::uint32_t board_index, std::uint32_t i) noexcept {
    const CameraHold::Datagram& held = hold_.at(board_index, i);
    if (held.is_followed || held.header.is_marker() || held.header.run_id != placer_.events().run().id) return true;
    hold_.mark_followed(board_index, i);
    if (placer_.boards().follow(board_index, held.header.sequence)) return true;
    placer_.drops().drop_repeated(held.header, held.bytes);
    hold_.remove(board_index, i);
    return false;
}

HeldFragments::Action HeldFragments::action_for(const CameraHold::Datagram& held, std::uint32_t board_index) noexcept {
    const BuildRun& run = placer_.events().run();
    CameraWindow& window = placer_.events().window();
    const GroupVotes& votes = placer_.votes();
    const CameraPosition at{held.header.run_id, held.header.event_number}, claim = votes.claim_of(board_index);
    const bool is_claimed = votes.is_elsewhere(board_index) && claim.run_id == at.run_id;
    if (at.run_id != run.id) return is_claimed ? Action::keep : Action::drop;
    if (held.header.is_marker()) return Action::place;
    if (run.is_over) return Action::drop;
    const std::uint32_t ahead = at.event_number - window.base();
    if (ahead < window.size() && window.place_of(at.event_number).room == CameraWindow::Room::empty) {
        const bool has_buffer = placer_.events().output().buffers().count_spare() > 0;
        return has_buffer || full_policy_ != receive::FullPolicy::wait ? Action::place : Action::keep;
    }
    if (ahead < window.size() || window.base() - at.event_number <= window.size()) return Action::place;
    const bool stays = ahead < 2 * window.size() || (is_claimed && votes.of_all().agree(claim, at));
    return stays ? Action::keep : Action::drop;
}

/// A claim to be elsewhere, made while held fragments are used, is decided on later.
void HeldFragments::use(const CameraHold::Datagram& held) noexcept {
    if (held.header.is_marker()) return use_marker(held.header, held.bytes);
    put(held.header, held.bytes);
}

}  // namespace anello::camera

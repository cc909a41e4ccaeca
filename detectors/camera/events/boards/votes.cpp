// SPDX-License-Identifier: Apache-2.0
#include "camera/events/boards/votes.hpp"

#include <algorithm>

namespace anello::camera {

void CameraVotes::enrol(std::uint32_t board, std::uint32_t group) noexcept {
    boards_[board].group = static_cast<std::uint8_t>(group);
    set_vote(board, BoardVote::nothing);
}

void CameraVotes::set_vote(std::uint32_t board, BoardVote vote) noexcept {
    boards_[board].vote.store(vote, std::memory_order_relaxed);
}

void CameraVotes::claim(std::uint32_t board, CameraPosition at, Nanoseconds lasts_ns) noexcept {
    boards_[board].position.store(packed(at), std::memory_order_relaxed);
    boards_[board].lasts_ns.store(lasts_ns, std::memory_order_relaxed);
    boards_[board].vote.store(BoardVote::elsewhere, std::memory_order_release);  // pairs with the acquire in count
}

void CameraVotes::set_position(std::uint32_t group, CameraPosition at) noexcept {
    groups_[group].position.store(packed(at), std::memory_order_relaxed);
}

CameraVotes::Count CameraVotes::count(CameraPosition at, std::uint32_t asking_group, Rules rules) const noexcept {
    Count count;
    for (const Board& board : boards_) {
        const BoardVote vote = board.vote.load(std::memory_order_acquire);  // pairs with the release in claim
        if (vote == BoardVote::silent) continue;
        ++count.n_voters;
        if (vote == BoardVote::nothing) continue;
        const bool claims = vote == BoardVote::elsewhere;
        if (!claims && (rules.claims_only || board.group == asking_group)) continue;
        if (claims && board.lasts_ns.load(std::memory_order_relaxed) < rules.lasts_ns) continue;
        const auto& position = claims ? board.position : groups_[board.group].position;
        count.n_for += agree(unpacked(position.load(std::memory_order_relaxed)), at) ? 1 : 0;
    }
    return count;
}

std::uint32_t CameraVotes::n_voters() const noexcept {
    return static_cast<std::uint32_t>(std::count_if(boards_.begin(), boards_.end(), [](const Board& board) {
        return board.vote.load(std::memory_order_relaxed) != BoardVote::silent;
    }));
}

std::uint32_t CameraVotes::n_in_step(std::uint32_t group) const noexcept {
    const CameraPosition at = position_of(group);
    return static_cast<std::uint32_t>(std::count_if(boards_.begin(), boards_.end(), [&](const Board& board) {
        return board.vote.load(std::memory_order_relaxed) == BoardVote::in_step &&
               (board.group == group || agree(position_of(board.group), at));
    }));
}

CameraPosition CameraVotes::position_of(std::uint32_t group) const noexcept {
    return unpacked(groups_[group].position.load(std::memory_order_relaxed));
}

}  // namespace anello::camera

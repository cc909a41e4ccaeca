// SPDX-License-Identifier: Apache-2.0
#include "build/camera_votes.hpp"

namespace anello::build {

void CameraVotes::enrol(std::uint32_t board, std::uint32_t group) noexcept {
    boards_[board].group = static_cast<std::uint8_t>(group);
    say(board, Says::nothing);
}

void CameraVotes::say(std::uint32_t board, Says says) noexcept {
    boards_[board].says.store(says, std::memory_order_relaxed);
}

void CameraVotes::claim(std::uint32_t board, CameraPosition at, Nanoseconds lasts_ns) noexcept {
    boards_[board].position.store(packed(at), std::memory_order_relaxed);
    boards_[board].lasts_ns.store(lasts_ns, std::memory_order_relaxed);
    boards_[board].says.store(Says::elsewhere, std::memory_order_release);  // pairs with the acquire in count
}

void CameraVotes::stand(std::uint32_t group, CameraPosition at) noexcept {
    groups_[group].position.store(packed(at), std::memory_order_relaxed);
}

CameraVotes::Count CameraVotes::count(CameraPosition at, std::uint32_t asking_group,
                                      Nanoseconds lasts_ns) const noexcept {
    Count count;
    for (const Board& board : boards_) {
        const Says says = board.says.load(std::memory_order_acquire);  // pairs with the release in claim
        if (says == Says::silent) continue;
        ++count.n_voters;
        if (says == Says::nothing) continue;
        const bool claims = says == Says::elsewhere;
        if (!claims && board.group == asking_group) continue;
        if (claims && board.lasts_ns.load(std::memory_order_relaxed) < lasts_ns) continue;
        const auto& position = claims ? board.position : groups_[board.group].position;
        count.n_for += agree(unpacked(position.load(std::memory_order_relaxed)), at) ? 1 : 0;
    }
    return count;
}

std::uint32_t CameraVotes::n_in_step(std::uint32_t run_id) const noexcept {
    std::uint32_t n_boards = 0;
    for (const Board& board : boards_) {
        if (board.says.load(std::memory_order_relaxed) != Says::in_step) continue;
        n_boards += unpacked(groups_[board.group].position.load(std::memory_order_relaxed)).run_id == run_id ? 1 : 0;
    }
    return n_boards;
}

}  // namespace anello::build

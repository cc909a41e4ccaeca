// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "camera/events/boards/group_boards.hpp"
#include "camera/events/boards/hold.hpp"
#include "camera/events/boards/votes.hpp"
#include "core/clock.hpp"

namespace anello::camera {

/// The votes of one group's boards on the camera's position, which it gives to the votes of all groups (CameraVotes),
/// and the fragments that it holds until enough boards agree with them. Hot path (all but the constructor and
/// add_claim): no allocation, no lock, no log, no throw.
class GroupVotes {
  public:
    GroupVotes(std::shared_ptr<CameraVotes> votes, std::uint32_t group, std::uint32_t window_events,
               std::size_t slot_bytes, GroupBoards& boards);

    BoardVote vote(std::uint32_t board_index) const noexcept { return voters_[board_index].vote; }
    bool is_elsewhere(std::uint32_t board_index) const noexcept { return vote(board_index) == BoardVote::elsewhere; }
    CameraPosition claim_of(std::uint32_t board_index) const noexcept { return voters_[board_index].claim; }
    std::uint32_t n_elsewhere() const noexcept { return n_elsewhere_; }
    void set_vote(std::uint32_t board_index, BoardVote vote) noexcept;
    /// The board claims this position; if no board has asked for a move for a while, this one does.
    void claim(std::uint32_t board_index, CameraPosition at, Nanoseconds now_ns, Nanoseconds patience_ns) noexcept;
    /// Sets the votes of boards that claim a position near this one to in_step.
    void take_in_step(CameraPosition at) noexcept;
    /// True if the board has claimed any position or sent a placed fragment since this time.
    bool was_heard_since(std::uint32_t board_index, Nanoseconds since_ns) const noexcept;
    void show_outvoted(std::uint32_t board_index, Nanoseconds input_ns, Nanoseconds timeout_ns) noexcept;

    /// The position of the boards in step.
    void set_position(CameraPosition at) noexcept { votes_->set_position(group_, at); }
    std::uint32_t n_in_step() const noexcept { return votes_->n_in_step(group_); }
    /// Counts the votes of all groups' boards for another position.
    CameraVotes::Count count_for(CameraPosition at, CameraVotes::Rules rules) const noexcept {
        return votes_->count(at, group_, rules);
    }
    /// True once most boards have been in step since begin_position().
    bool is_confirmed() noexcept;
    bool was_confirmed() const noexcept { return is_confirmed_; }  ///< as is_confirmed(), when it was last checked
    void begin_position(CameraPosition at) noexcept;
    /// True if at least half of the group's boards have reached this event, and are not far beyond. The given board
    /// has.
    bool have_reached(std::uint32_t number, std::uint32_t board_index) const noexcept;
    /// The earliest event that the boards at this position claim.
    CameraPosition earliest_of(CameraPosition at) const noexcept;

    CameraHold& hold() noexcept { return hold_; }
    const CameraHold& hold() const noexcept { return hold_; }
    /// Call it after a change of the board's held fragments.
    void note_held(std::uint32_t board_index) noexcept;
    CameraVotes& of_all() const noexcept { return *votes_; }

    void add_claim(std::uint32_t board_index, CameraBoardStatus& status) const noexcept;  ///< Any thread.

  private:
    struct Voter {
        BoardVote vote = BoardVote::nothing;
        CameraPosition claim;                       ///< position of the camera that it claims, with vote elsewhere
        Nanoseconds claimed_since_ns = 0;           ///< when it first made this claim
        Nanoseconds claimed_ns = 0;                 ///< when it last made this claim; 0: never
        std::atomic<std::uint64_t> shown_claim{0};  ///< the claim for other threads: run and event number
        std::atomic<bool> is_outvoted{false};
    };

    std::shared_ptr<CameraVotes> votes_;
    std::uint32_t group_, window_events_;
    GroupBoards& boards_;
    CameraHold hold_;
    std::unique_ptr<Voter[]> voters_;  ///< by board
    std::uint32_t n_elsewhere_ = 0;
    bool is_confirmed_ = false;
};

}  // namespace anello::camera

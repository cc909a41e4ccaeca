// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace anello::camera {

/// Position of a camera: its run and event number.
struct CameraPosition {
    std::uint32_t run_id = 0, event_number = 0;
    bool operator==(const CameraPosition&) const = default;
};

/// One board's vote on the camera's position.
enum class BoardVote : std::uint8_t {
    silent,     ///< the board has no vote
    nothing,    ///< the board has a vote, but has sent nothing of this run yet
    in_step,    ///< the board is at the position of its group
    elsewhere,  ///< the board is at another position, and votes for the one that it claims
};

/// Collects each board's vote on the camera's run and event number, and counts how many boards agree: a minority of the
/// boards that vote changes nothing.
///
/// Shared by the builders of all groups, so that the whole camera votes and not each group for itself. A board's vote
/// has one writer, its group's builder; any builder may count the votes. Hot path (all but constructor and enrol): no
/// allocation, no lock, no log, no throw.
class CameraVotes {
  public:
    struct Count {
        std::uint32_t n_for = 0, n_voters = 0;
        bool is_majority() const noexcept { return 2 * n_for > n_voters; }
    };

    CameraVotes(std::uint32_t n_boards, std::uint32_t n_groups, std::uint32_t window_events)
        : boards_(n_boards), groups_(n_groups), window_events_(window_events) {}

    /// At set-up: gives a vote to this board, which this group receives. Other boards have no vote.
    void enrol(std::uint32_t board, std::uint32_t group) noexcept;

    void set_vote(std::uint32_t board, BoardVote vote) noexcept;
    /// Sets the board's vote to elsewhere. lasts_ns: how long the board has made this claim.
    void claim(std::uint32_t board, CameraPosition at, Nanoseconds lasts_ns) noexcept;
    /// Sets the position of the group's boards in step.
    void set_position(std::uint32_t group, CameraPosition at) noexcept;

    /// Counts the votes for a position within a window of `at`. In the asking group only claims count, as its boards in
    /// step are at another position.
    struct Rules {
        Nanoseconds lasts_ns = 0;  ///< shorter claims do not count
        bool claims_only = false;  ///< boards in step do not count in other groups, either
    };
    Count count(CameraPosition at, std::uint32_t asking_group, Rules rules) const noexcept;
    Count count(CameraPosition at, std::uint32_t asking_group) const noexcept {
        return count(at, asking_group, Rules());
    }
    std::uint32_t n_voters() const noexcept;  ///< Number of boards that have a vote.
    /// Number of boards in step at this group's position: its own, and those of groups within a window of it.
    std::uint32_t n_in_step(std::uint32_t group) const noexcept;
    static constexpr std::uint64_t packed(CameraPosition at) noexcept {
        return std::uint64_t{at.run_id} << 32 | at.event_number;
    }
    static constexpr CameraPosition unpacked(std::uint64_t position) noexcept {
        return {static_cast<std::uint32_t>(position >> 32), static_cast<std::uint32_t>(position)};
    }
    bool agree(CameraPosition a, CameraPosition b) const noexcept {
        return a.run_id == b.run_id && a.event_number - b.event_number + window_events_ - 1 <= 2 * (window_events_ - 1);
    }

    /// Number of steps back of the camera's event numbers. The joiner distinguishes equal event numbers by it.
    std::uint32_t turn() const noexcept { return turn_.load(std::memory_order_relaxed); }
    /// Counts a step back once: only the first group that reports it changes the number.
    void turn_from(std::uint32_t turn) noexcept {
        turn_.compare_exchange_strong(turn, turn + 1, std::memory_order_relaxed);
    }

    /// Time at which a board asked for a move (0: none did): all groups must then report which boards are silent.
    Nanoseconds asked_ns() const noexcept { return asked_ns_.load(std::memory_order_relaxed); }
    void ask(Nanoseconds now_ns) noexcept { asked_ns_.store(now_ns, std::memory_order_relaxed); }

  private:
    struct Board {
        std::atomic<std::uint64_t> position{0};
        std::atomic<Nanoseconds> lasts_ns{0};
        std::atomic<BoardVote> vote{BoardVote::silent};
        std::uint8_t group = 0;
    };
    struct alignas(64) Group {
        std::atomic<std::uint64_t> position{0};
    };

    CameraPosition position_of(std::uint32_t group) const noexcept;

    std::vector<Board> boards_;
    std::vector<Group> groups_;
    std::uint32_t window_events_;
    std::atomic<Nanoseconds> asked_ns_{0};
    std::atomic<std::uint32_t> turn_{0};
};

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace anello::camera {

/// Where a camera is: in which run, at which event.
struct CameraPosition {
    std::uint32_t run_id = 0, event_number = 0;
    bool operator==(const CameraPosition&) const = default;
};

/// What one board says of where the camera is.
enum class BoardVote : std::uint8_t {
    silent,     ///< has no vote
    nothing,    ///< has one, and nothing of this run came from it yet
    in_step,    ///< is where its group is
    elsewhere,  ///< has left it: votes for the position that it claims
};

/// What each board of a camera says about run and event number, and how many boards agree: a minority of the boards
/// that speak changes nothing.
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

    /// At set-up: this board is received, by this group. Others have no vote.
    void enrol(std::uint32_t board, std::uint32_t group) noexcept;

    void say(std::uint32_t board, BoardVote vote) noexcept;
    /// How long the board has kept saying so.
    void claim(std::uint32_t board, CameraPosition at, Nanoseconds lasts_ns) noexcept;
    /// Where the group's boards in step are.
    void stand(std::uint32_t group, CameraPosition at) noexcept;

    /// How many say that the camera is within a window of `at`. Of the group that asks only those who claim it, others
    /// are elsewhere; and claims that have lasted for less do not count.
    struct Rules {
        Nanoseconds lasts_ns = 0;
        bool claims_only = false;  ///< groups that are there do not say so by that
    };
    Count count(CameraPosition at, std::uint32_t asking_group, Rules rules) const noexcept;
    Count count(CameraPosition at, std::uint32_t asking_group) const noexcept {
        return count(at, asking_group, Rules());
    }
    /// How many boards are in step where this group is: its own, and those of groups that are within a window of it.
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

    /// How often the camera's event numbers stepped back: by it parts of different groups are told apart.
    std::uint32_t turn() const noexcept { return turn_.load(std::memory_order_relaxed); }
    /// The first group to step back counts for all.
    void turn_from(std::uint32_t turn) noexcept {
        turn_.compare_exchange_strong(turn, turn + 1, std::memory_order_relaxed);
    }

    /// Some board asks for a move, at this time (0: none does): all groups must say which boards they hear.
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

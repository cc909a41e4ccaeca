// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/board_changes.hpp"
#include "simulate/farm/assignments.hpp"
#include "simulate/world/simulated_disk.hpp"
#include "simulate/world/simulated_threads.hpp"
#include "simulate/world/simulated_wire.hpp"
#include "source/fault_injector.hpp"

namespace anello::simulate {

/// What a board writes wrongly into the headers of its datagrams, as a board does whose clock has lost its reference,
/// or which was not reset for the run. Only for detectors whose boards send times without a common trigger.
enum class WrongHeader : std::uint8_t { none, ahead, behind, stands, not_valid, between, other_run };

/// Troubles that can happen to a chain of one node, with any detector.
struct ChainTroubles {
    static constexpr std::size_t usual_buffer_bytes = 64U << 20;

    std::uint64_t seed = 1;
    source::FaultsConfig faults{};
    WireConfig wire{};
    HostConfig host{}, front_ends{};
    // Each happens once in the run, and not at all if its duration is 0.
    Nanoseconds stop_at_ns = 0, stop_ns = 0;             ///< the node's process stands still
    Nanoseconds cut_at_ns = 0, cut_ns = 0, hold_ns = 0;  ///< a board's link is cut, or holds its datagrams back
    std::uint32_t cut_board = 0;
    WrongHeader wrong_header = WrongHeader::none;  ///< of one board, during these steps
    std::uint32_t wrong_board = 0, wrong_from_step = 0, n_wrong_steps = 1, wrong_by_steps = 1;
    // Where the chain stores its output:
    DiskConfig disk{};
    Nanoseconds disk_full_at_ns = 0, disk_full_ns = 0;
    std::uint64_t disk_room_bytes = 0;  ///< room that is left on the disk
    double disk_slowness = 1;
    BoardChanges boards{};  ///< drawn by chains whose front ends stand behind ChangedBoards

    bool is_link_disturbed() const noexcept { return cut_ns + hold_ns > 0; }
};

/// A kind of trouble, and the assignment that removes it.
struct TroubleKind {
    std::string_view name, without;
};
inline constexpr std::array trouble_kinds{
    TroubleKind{"loss", "loss=0"},
    TroubleKind{"duplicate", "duplicate=0"},
    TroubleKind{"reorder", "reorder=0"},
    TroubleKind{"corrupt", "corrupt=0"},
    TroubleKind{"truncate", "truncate=0"},
    TroubleKind{"dead", "dead_board=-1"},
    TroubleKind{"preempted", "preempted_share=0"},
    TroubleKind{"stop", "stop_ns=0"},
    TroubleKind{"cut", "cut_ns=0"},
    TroubleKind{"hold", "hold_ns=0"},
    TroubleKind{"jitter", "jitter_ns=0"},
    TroubleKind{"disk_full", "disk_full_ns=0"},
    TroubleKind{"disk_slow", "disk_slowness=1"},
    TroubleKind{"small_buffers", "buffer_bytes=67108864"},
    TroubleKind{"reboot", "n_rebooting=0"},
    TroubleKind{"clock", "n_wrong_clocks=0"},
    TroubleKind{"wrap", "wraps_after=0"},
    TroubleKind{"wrong_header", "wrong_header=none"},
};

/// Upper limits of the troubles that may be drawn.
struct TroubleLimits {
    std::uint32_t n_boards = 1, n_steps = 1;  ///< a dead board stops at one of the first n_steps steps
    double jitter_ms = 0.2, begin_ms = 40, link_ms = 30;
    std::uint32_t least_buffer_bytes = 10'000, more_buffer_bytes = 200'000;
    double loss = 0.1, damage = 0.1;
    bool has_wrong_headers = false;
};

void draw(ChainTroubles& troubles, const TroubleLimits& limits, source::Random& dice);
std::vector<std::string> told(const ChainTroubles& troubles);  ///< Descriptions of all troubles of the chain.

/// Applies the troubles that are due; called every millisecond of virtual time.
void act(const ChainTroubles& troubles, SimulatedThreads& host, SimulatedWire& wire, SimulatedDisk& disk,
         const World& world);

/// Sets one trouble, by name, in a scenario that has them.
template <typename Scenario>
std::vector<Assignable<Scenario>> assignables(ChainTroubles Scenario::*troubles) {
    constexpr double day_ns = 86'400e9;
    using T = ChainTroubles;
    using F = source::FaultsConfig;
    using B = BoardChanges;
    using S = Scenario;
    return {number<S>("loss", 0, 1, troubles, &T::faults, &F::loss),
            number<S>("duplicate", 0, 1, troubles, &T::faults, &F::duplicate),
            number<S>("reorder", 0, 1, troubles, &T::faults, &F::reorder),
            number<S>("corrupt", 0, 1, troubles, &T::faults, &F::corrupt),
            number<S>("truncate", 0, 1, troubles, &T::faults, &F::truncate),
            number<S>("dead_board", -1, 4096, troubles, &T::faults, &F::dead_board),
            number<S>("latency_ns", 0, day_ns, troubles, &T::wire, &WireConfig::latency_ns),
            number<S>("jitter_ns", 0, day_ns, troubles, &T::wire, &WireConfig::jitter_ns),
            number<S>("buffer_bytes", 1, 1e12, troubles, &T::wire, &WireConfig::buffer_bytes),
            number<S>("n_cores", 1, 4096, troubles, &T::host, &HostConfig::n_cores),
            number<S>("step_ns", 1, day_ns, troubles, &T::host, &HostConfig::step_ns),
            number<S>("work_ns", 0, day_ns, troubles, &T::host, &HostConfig::work_ns),
            number<S>("wake_ns", 0, day_ns, troubles, &T::host, &HostConfig::wake_ns),
            number<S>("preempted_share", 0, 1, troubles, &T::host, &HostConfig::preempted_share),
            number<S>("preempted_ns", 0, day_ns, troubles, &T::host, &HostConfig::preempted_ns),
            number<S>("stop_at_ns", 0, day_ns, troubles, &T::stop_at_ns),
            number<S>("stop_ns", 0, day_ns, troubles, &T::stop_ns),
            number<S>("cut_at_ns", 0, day_ns, troubles, &T::cut_at_ns),
            number<S>("cut_ns", 0, day_ns, troubles, &T::cut_ns),
            number<S>("hold_ns", 0, day_ns, troubles, &T::hold_ns),
            number<S>("cut_board", 0, 4096, troubles, &T::cut_board),
            word<S>("wrong_header", troubles, &T::wrong_header),
            number<S>("wrong_board", 0, 4096, troubles, &T::wrong_board),
            number<S>("wrong_from_step", 0, 1e9, troubles, &T::wrong_from_step),
            number<S>("n_wrong_steps", 1, 1e9, troubles, &T::n_wrong_steps),
            number<S>("wrong_by_steps", 1, 1e9, troubles, &T::wrong_by_steps),
            number<S>("disk_full_at_ns", 0, day_ns, troubles, &T::disk_full_at_ns),
            number<S>("disk_full_ns", 0, day_ns, troubles, &T::disk_full_ns),
            number<S>("disk_room_bytes", 0, 1e15, troubles, &T::disk_room_bytes),
            number<S>("disk_slowness", 1, 1e6, troubles, &T::disk_slowness),
            number<S>("n_rebooting", 0, 4096, troubles, &T::boards, &B::n_rebooting),
            number<S>("first_rebooting", 0, 4096, troubles, &T::boards, &B::first_rebooting),
            number<S>("reboot_at_ns", 0, day_ns, troubles, &T::boards, &B::reboot_at_ns),
            number<S>("down_ns", 0, day_ns, troubles, &T::boards, &B::down_ns),
            number<S>("restarts_clock", 0, 1, troubles, &T::boards, &B::restarts_clock),
            number<S>("restarts_steps", 0, 1, troubles, &T::boards, &B::restarts_steps),
            number<S>("announces", 0, 1, troubles, &T::boards, &B::announces),
            number<S>("n_wrong_clocks", 0, 4096, troubles, &T::boards, &B::n_wrong_clocks),
            number<S>("first_wrong_clock", 0, 4096, troubles, &T::boards, &B::first_wrong_clock),
            number<S>("clock_at_ns", 0, day_ns, troubles, &T::boards, &B::clock_at_ns),
            number<S>("clock_ns", 0, day_ns, troubles, &T::boards, &B::clock_ns),
            number<S>("clock_step_ns", -day_ns, day_ns, troubles, &T::boards, &B::clock_step_ns),
            number<S>("wraps_after", 0, 1e9, troubles, &T::boards, &B::wraps_after)};
}

}  // namespace anello::simulate

namespace anello {

template <>
inline constexpr std::array<const char*, 7> words_of<simulate::WrongHeader>{
    "none", "ahead", "behind", "stands", "not_valid", "between", "other_run"};

}  // namespace anello

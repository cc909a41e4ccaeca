// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulate/world/world.hpp"
#include "source/random.hpp"
#include "source/sinks/packet_sink.hpp"

namespace anello::simulate {

/// Boards that begin anew in a run, as after a loss of power, and boards whose clock is wrong for a while. Times are
/// since the begin of the world.
struct BoardChanges {
    /// Boards first_rebooting and those after it send nothing from reboot_at_ns on, for down_ns. Then their packet
    /// numbers and totals count from 0. 0 boards: none.
    std::uint32_t n_rebooting = 0, first_rebooting = 0;
    Nanoseconds reboot_at_ns = 0, down_ns = 0;
    bool restarts_clock = false;  ///< the boards' times count from the reboot, too
    bool restarts_steps = false;  ///< the boards' numbers of bursts or events count from 0, too
    bool announces = false;       ///< the boards first say that they begin, where the format has such a message
    /// The clocks of first_wrong_clock and of the boards after it stand still from clock_at_ns on, for clock_ns, or,
    /// where clock_step_ns is not 0, are wrong by that. 0 boards: none.
    std::uint32_t n_wrong_clocks = 0, first_wrong_clock = 0;
    Nanoseconds clock_at_ns = 0, clock_ns = 0, clock_step_ns = 0;
    /// The boards' counters pass from their greatest value to 0 after so many counts. 0: they begin at 0.
    std::uint32_t wraps_after = 0;

    bool any() const noexcept { return n_rebooting + n_wrong_clocks + wraps_after > 0; }
    bool reboots(std::uint32_t board) const noexcept { return board - first_rebooting < n_rebooting; }
    bool has_wrong_clock(std::uint32_t board) const noexcept { return board - first_wrong_clock < n_wrong_clocks; }
    bool is_clock_wrong_at(Nanoseconds since_ns) const noexcept {
        return clock_at_ns <= since_ns && since_ns < clock_at_ns + clock_ns;
    }
    /// What a counter of 32 bits shows instead of 0 at the begin of the run.
    std::uint32_t first_number() const noexcept { return 0U - wraps_after; }
};

/// Draws changes of some of n_boards boards that begin within begin_ms. It does not use the dice of other troubles, so
/// that these stay what their seed had drawn.
void draw(BoardChanges& changes, std::uint32_t n_boards, double begin_ms, std::uint64_t seed);
std::vector<std::string> told(const BoardChanges& changes);  ///< Descriptions of all changes.

/// Stands between the front ends and the wire, and lets boards begin anew or have a wrong clock: it changes their
/// datagrams, or drops them while a board is off. Derived classes know the format.
class ChangedBoards : public source::PacketSink {
  public:
    ChangedBoards(const BoardChanges& changes, source::PacketSink& wire, const World& world)
        : changes_(changes), wire_(wire), world_(world) {}
    void send(std::span<const source::OutgoingDatagram> datagrams, Nanoseconds now_ns,
              source::SendResult* results) noexcept override;

    /// How a datagram of a changed board differs from what its front end made.
    struct Change {
        bool is_anew = false;          ///< its board had begun anew
        bool is_clock_wrong = false;   ///< one of its times is wrong
        std::uint64_t step_shift = 0;  ///< what was taken from its number of a burst or event
        std::uint64_t time_shift = 0;  ///< what was taken from its times, where the board had begun anew
    };
    /// Returns how this datagram, as it was sent, had been changed.
    Change change_of(std::uint32_t board, std::span<const std::byte> datagram) const;

  protected:
    enum class Fate : std::uint8_t { sent, dropped };
    /// Changes a datagram in place. since_ns: time since the begin of the world. announcement: a message to be sent
    /// before it, or empty.
    virtual Fate change(std::uint32_t board, std::span<std::byte> datagram, Nanoseconds since_ns, Change& change,
                        std::vector<std::byte>& announcement) = 0;
    bool is_off(std::uint32_t board, Nanoseconds since_ns) const noexcept {
        return changes_.reboots(board) && changes_.reboot_at_ns <= since_ns &&
               since_ns < changes_.reboot_at_ns + changes_.down_ns;
    }
    bool is_back(std::uint32_t board, Nanoseconds since_ns) const noexcept {
        return changes_.reboots(board) && changes_.reboot_at_ns + changes_.down_ns <= since_ns;
    }

    const BoardChanges changes_;

  private:
    void put(const source::OutgoingDatagram& datagram, std::span<const std::byte> bytes, const Change& made);

    source::PacketSink& wire_;
    const World& world_;
    std::deque<std::vector<std::byte>> copies_;  ///< of one call
    std::vector<source::OutgoingDatagram> out_;
    std::vector<source::SendResult> results_;
    std::unordered_map<std::uint64_t, Change> made_;  ///< by board and checksum of the datagram as it was sent
};

}  // namespace anello::simulate

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "rich/geometry.hpp"
#include "simulate/board_changes.hpp"
#include "wire/mgp.hpp"

namespace anello::rich {

/// Boards that send MGP, and begin anew or have a wrong clock. A board that begins anew in a burst continues with that
/// burst, or with burst 0; its event times continue, or count from its begin.
class ChangedRichBoards final : public simulate::ChangedBoards {
  public:
    using ChangedBoards::ChangedBoards;
    /// Bursts have other numbers before the boards begin anew than after it.
    static std::uint32_t first_burst_id(const simulate::BoardChanges& changes) noexcept {
        return changes.n_rebooting > 0 && changes.restarts_steps ? 1000 : 0;
    }

    /// Keys of the events of which a board has sent its fragment, as they were measured. Empty without changes.
    const std::set<std::uint64_t>& sent_keys() const noexcept { return sent_keys_; }

  private:
    struct Time {
        std::uint32_t ticks = 0;
        std::uint8_t fine = 0;
    };
    struct Board {
        bool is_anew = false, stands = false;
        std::uint32_t first_sequence = 0;  ///< its number when it began anew, if it had continued
        Time stands_at;
        wire::mgp::Totals totals{};  ///< since it began anew
    };

    Fate change(std::uint32_t board, std::span<std::byte> datagram, Nanoseconds since_ns, Change& change,
                std::vector<std::byte>& announcement) override;
    void begin_anew(Board& board, const wire::mgp::PacketView& packet);
    void shift_time(const wire::mgp::PacketView& packet);
    void set_clock_wrong(Board& board, const wire::mgp::PacketView& packet, std::span<std::byte> datagram);
    void announce(const wire::mgp::Header& header, std::vector<std::byte>& announcement) const;

    std::array<Board, n_boards> boards_{};
    std::set<std::uint64_t> sent_keys_;
    bool has_shift_ = false;
    std::uint32_t shifted_burst_ = 0, burst_shift_ = 0, time_shift_ticks_ = 0;  ///< of all boards that began anew
};

/// What the rules of docs/reference/merging.md make of a board's packets by their numbers, where these stay within the
/// window of the receive stage.
class ExpectedPackets {
  public:
    /// Takes the next valid data packet. Returns true if it is to be used.
    bool take(std::uint32_t sequence, std::uint32_t content);
    /// Takes a marker. counts_anew: it counts from zero, and its board has begun anew.
    void take_marker(std::uint32_t next_sequence, bool counts_anew);

    std::uint64_t n_used = 0, n_duplicates = 0, n_conflicting = 0, n_restarts = 0, n_datagrams = 0;

  private:
    void begin_anew();

    std::map<std::uint32_t, std::uint32_t> contents_;  ///< by number, since the last begin
    bool has_counted_ = false;                         ///< a number above 0 was next since then
    std::uint64_t conflict_next_ = none;
    static constexpr std::uint64_t none = ~std::uint64_t{0};
};

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "receive/numbers/packet_contents.hpp"
#include "receive/numbers/sequence_log.hpp"
#include "receive/numbers/sequence_tracker.hpp"

namespace anello::receive {

/// The numbers of one board's packets: which packets are new, and which numbers never arrived. A repeated number with
/// other content belongs to another packet; two such packets in direct succession show a board that counts from zero
/// again. All functions are hot path, but for the log.
class PacketNumbers {
  public:
    explicit PacketNumbers(std::size_t max_ranges = 65'536) : log_(max_ranges) { tracker_.write_to(log_); }
    PacketNumbers(const PacketNumbers&) = delete;
    PacketNumbers& operator=(const PacketNumbers&) = delete;

    /// Accepts a packet with the numbers sequence .. sequence + step - 1 and this checksum (PacketContents::of).
    Arrival take(std::uint32_t sequence, std::uint32_t step, std::uint32_t content) noexcept;
    /// For numbers that begin at 0 in each series: true if this packet is of the next series, and not a late one of the
    /// series that has ended.
    bool begins_series(std::uint32_t sequence, std::uint32_t content) const noexcept;
    void announce_next(std::uint32_t sequence) noexcept { tracker_.announce_next(sequence); }
    void restart() noexcept { tracker_.restart(); }

    const SequenceTracker& tracker() const noexcept { return tracker_; }
    /// What was taken since the tracker was so did not come from the board.
    void go_back_to(const SequenceTracker& before) noexcept {
        tracker_ = before;
        log_.missing.spoil();
    }
    /// Nothing that was taken came from the board.
    void clear() noexcept {
        tracker_ = SequenceTracker{};
        log_.clear();
        tracker_.write_to(log_);
    }
    /// The end: numbers missing now are lost.
    const SequenceLog& close_log() noexcept {
        tracker_.close_log();
        return log_;
    }
    const SequenceLog& log() const noexcept { return log_; }  ///< Valid after close_log().

  private:
    SequenceTracker tracker_;
    PacketContents contents_;
    std::optional<std::uint32_t> conflict_next_;  ///< number after the last packet's, if that packet conflicted
    SequenceLog log_;
};

}  // namespace anello::receive

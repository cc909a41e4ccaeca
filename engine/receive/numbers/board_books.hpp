// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/numbers/board_source.hpp"
#include "receive/numbers/numbered_packet.hpp"
#include "receive/numbers/packet_counters.hpp"
#include "receive/numbers/packet_numbers.hpp"

namespace anello::receive {

/// Accounts for the packets of boards that number them: decides which datagrams are used, each number once, and counts
/// all others by cause. One thread calls all members except those marked.
class BoardBooks {
  public:
    /// sources: one for each board, or empty: the first sender is accepted. The page must outlive it.
    BoardBooks(ParsePacket parse, std::uint32_t n_boards, std::span<const SourceAddress> sources, CounterPage& page);

    // Hot path, both: no allocation, no lock, no log, no throw. Returns true if `packet` is to be used.
    bool take(const Datagram& datagram, NumberedPacket& packet) noexcept;
    void begin_batch(Nanoseconds now_ns) noexcept { now_ns_ = now_ns; }  ///< When the batch was received.
    /// Called after each batch, even an empty one, with the time of ReadTimes.
    void end_batch(Nanoseconds read_until_ns) noexcept { read_until_ns_ = read_until_ns; }
    /// The end: numbers missing now are lost.
    void close() noexcept;

    // Any thread.
    std::uint32_t n_boards() const noexcept { return static_cast<std::uint32_t>(boards_.size()); }
    const Counters<PacketCounter>& counters(std::uint32_t board) const noexcept { return boards_[board].counters; }
    Speakers speakers(std::uint32_t board) const noexcept { return boards_[board].source.speakers(); }
    /// Number of boards that have sent all numbers below this one.
    std::uint32_t n_boards_at(std::uint64_t sequence) const noexcept;
    const SequenceLog& log(std::uint32_t board) const noexcept {
        return boards_[board].numbers.log();
    }  ///< Valid after close().

  private:
    struct Board {
        Board(Counters<PacketCounter> its_counters, std::size_t max_ranges)
            : counters(its_counters), numbers(max_ranges) {}
        Counters<PacketCounter> counters;
        PacketNumbers numbers;
        BoardSource source;
        std::atomic<std::uint32_t> next{0};
    };
    bool reject_stranger(Board& board, SourceAddress source) noexcept;
    static void revoke_source(Board& board) noexcept;
    static PacketCounter follow(Board& board, std::uint32_t sequence, std::uint32_t content) noexcept;

    const ParsePacket parse_;
    Nanoseconds now_ns_ = 0, read_until_ns_ = 0;  ///< monotonic
    Counters<wire::Verdict> verdicts_;
    std::deque<Board> boards_;  // a deque, because boards cannot be moved
};

}  // namespace anello::receive

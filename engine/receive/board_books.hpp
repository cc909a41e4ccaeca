// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "core/counters.hpp"
#include "core/running_time.hpp"
#include "receive/backend.hpp"
#include "receive/board_source.hpp"
#include "receive/numbered_packet.hpp"
#include "receive/packet_counters.hpp"
#include "receive/sequence_tracker.hpp"

namespace anello::receive {

/// Keeps the books of boards that number their packets: which datagrams are to be used, each number once, and what
/// became of all others. One thread calls all members but those marked.
class BoardBooks {
  public:
    /// sources: by board, or empty: the first that speaks. Clock and page must outlive it.
    BoardBooks(ParsePacket parse, std::uint32_t n_boards, std::span<const SourceAddress> sources, const Clock& clock,
               CounterPage& page);

    // Hot path, both: no allocation, no lock, no log, no throw.
    /// True: `packet` is to be used.
    bool take(const Datagram& datagram, NumberedPacket& packet) noexcept;
    /// After each batch of datagrams, also an empty one.
    void look_at_clock() noexcept { time_.look(clock_.monotonic_ns()); }
    /// The end: what is missing now never came.
    void close() noexcept;

    // Any thread.
    std::uint32_t n_boards() const noexcept { return static_cast<std::uint32_t>(boards_.size()); }
    const Counters<PacketCounter>& counters(std::uint32_t board) const noexcept { return boards_[board].counters; }
    SourceAddress source(std::uint32_t board) const noexcept { return boards_[board].source.source(); }
    SourceAddress stranger(std::uint32_t board) const noexcept { return boards_[board].source.stranger(); }
    /// Boards that have come to this number, the one after the last that they sent.
    std::uint32_t n_boards_at(std::uint64_t sequence) const noexcept;
    const SequenceLog& log(std::uint32_t board) const noexcept { return boards_[board].log; }  ///< Once closed.

  private:
    struct Board {
        Board(Counters<PacketCounter> its_counters, std::size_t max_ranges) : counters(its_counters), log(max_ranges) {
            tracker.write_to(log);
        }
        Counters<PacketCounter> counters;
        SequenceTracker tracker;
        SequenceLog log;
        BoardSource source;
        std::atomic<std::uint32_t> next{0};
    };
    bool is_strangers(Board& board, SourceAddress source) noexcept;
    static void disown(Board& board) noexcept;

    const ParsePacket parse_;
    const Clock& clock_;
    RunningTime time_;
    Counters<wire::Verdict> verdicts_;
    std::deque<Board> boards_;  // a deque: they cannot be moved
};

}  // namespace anello::receive

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "build/batch_writer.hpp"
#include "build/board_stream.hpp"
#include "build/build_counters.hpp"
#include "build/merger_config.hpp"

namespace anello::build {

/// Builds events: the fragments of all boards that lie within a window after the earliest of them.
///
/// An event is handed on when every board has given its fragment or is past the event, which shows in a later fragment.
/// A board without data is waited for until it is silent (timeout) or has ended its burst. Every fragment that comes in
/// has one outcome: merged, late (its event or burst has gone) or duplicate (same board, same time as its last).
///
/// LATE: earlier than the last event; or within the window after it, from a board which that event lacks. A board that
/// is in the last event goes on where it was: its next fragment begins an event, however close.
///
/// Bursts follow one another. Blocks of another burst wait; a burst is over when every board has ended it or is silent.
/// One thread calls do_work(); counters and states may be read by any.
class Merger {
  public:
    struct BoardStatus {
        BoardState state;
        std::uint64_t silences;
    };

    /// Source, buffers, sink and clock must outlive the merger. Throws ConfigError.
    /// Counters are added to `page` as "build" and "build.board0" and so on.
    Merger(const MergerConfig& config, BlockSource& source, memory::PersistentBuffers& batches, BatchSink& sink,
           const Clock& clock, CounterPage& page, const std::string& block_name = "build");

    /// Hot path: no allocation, no lock, no log, no throw. The steps it made forward; 0: nothing to do.
    std::size_t do_work() noexcept;

    /// From any thread: no more input will come. What is there is merged, without waiting for any board; drained()
    /// tells when all is handed on.
    void finish() noexcept { finishing_.store(true, std::memory_order_release); }  // pairs with the acquire in do_work
    bool is_drained() const noexcept { return drained_.load(std::memory_order_acquire); }  // pairs with do_work

    const Counters<BuildCounter>& counters() const noexcept { return counters_; }
    const Counters<BoardCounter>& board_counters(std::uint32_t board) const noexcept { return board_counters_[board]; }
    /// For the control thread's log: which board is silent, and how often it was.
    BoardStatus status(std::uint32_t board) const noexcept;

  private:
    using BoardMask = std::uint32_t;

    std::size_t take_input() noexcept;
    void take(std::uint32_t board, const receive::Completion& completion) noexcept;
    void join_burst(std::uint32_t board, const receive::Completion& completion) noexcept;
    std::uint64_t late_before(std::uint32_t board) const noexcept;
    bool is_gone(std::uint32_t burst_id) const noexcept;

    bool choose_burst(std::uint32_t& burst_id) const noexcept;
    bool begin_burst() noexcept;
    bool end_burst() noexcept;

    std::size_t merge() noexcept;
    bool build_event(FineTime first) noexcept;
    void append(BoardMask members, FineTime first) noexcept;
    void reject(BoardMask members) noexcept;
    void advance(std::uint32_t board) noexcept;
    void count_missing(BoardMask missing) noexcept;

    BoardMask waited_for() const noexcept { return all_boards_ & ~(has_head_ | ended_ | silent_); }
    bool someone_waits() const noexcept;
    std::size_t watch_silence(Nanoseconds now_ns) noexcept;
    void set_state(std::uint32_t board, BoardState state) noexcept;
    void collect_dropped() noexcept;

    // What the event loop touches.
    std::array<FineTime, max_boards> heads_;  ///< of every board's stream, no_fragment where there is none
    std::uint32_t n_boards_;
    std::uint32_t window_ticks_;
    BoardMask all_boards_;
    BoardMask has_head_ = 0;
    BoardMask ended_ = 0;   ///< gave the end of this burst
    BoardMask silent_ = 0;  ///< not waited for in this burst
    BoardMask last_members_ = 0;
    bool has_last_ = false;
    std::uint64_t last_ticks_ = 0;  ///< the last event's time
    std::uint64_t n_merged_ = 0, n_complete_ = 0, n_incomplete_ = 0;
    std::uint32_t burst_id_ = 0;
    bool in_burst_ = false;
    Counters<BuildCounter> counters_;
    BatchWriter writer_;
    std::vector<BoardStream> streams_;

    MergerConfig config_;
    BlockSource& source_;
    const Clock& clock_;
    std::vector<Counters<BoardCounter>> board_counters_;
    std::array<Nanoseconds, max_boards> waited_since_ns_{};  ///< 0: not waited for
    BoardMask gave_data_ = 0;                                ///< boards with fragments in this burst
    std::array<std::uint32_t, 4> gone_bursts_{};             ///< the last bursts handed on
    std::size_t n_gone_bursts_ = 0;
    std::atomic<bool> finishing_{false};
    std::atomic<bool> drained_{false};
};

}  // namespace anello::build

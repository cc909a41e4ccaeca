// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "core/thread.hpp"
#include "events/board_stream.hpp"
#include "events/build_counters.hpp"
#include "events/merger_config.hpp"

namespace anello::events {

/// Several boards' streams of fragments, joined burst by burst: which fragments may be looked at, and which boards are
/// waited for. Derived classes say what is made of them.
///
/// A board without data is waited for until it is silent or has ended its burst. It is silent when all that it sent
/// within a timeout after the others' next fragment came has been read, and there is nothing; what of it is unread is
/// not missing (BlockSource::read_until_ns). Bursts follow one another. Blocks of another burst wait; a burst is over
/// when every board has ended it or is silent.
///
/// Fewer than half of the boards change nothing for the others. A burst begins when half of the boards are in it.
/// Time advances without a jump, or to where half of the boards are: a head beyond the silence timeout is not trusted
/// until then. Its board is waited for as if it had none, and what no other board follows by the end of the burst is
/// dropped. One thread calls do_work(); counters and states may be read by any.
class BoardJoin {
  public:
    struct BoardStatus {
        BoardState state;
        std::uint64_t silences;
    };

    BoardJoin(const BoardJoin&) = delete;
    BoardJoin& operator=(const BoardJoin&) = delete;

    /// Hot path: no allocation, no lock, no log, no throw. The steps it made forward; 0: nothing to do.
    std::size_t do_work() noexcept;

    /// How long it may wait for input: its time-outs are looked at as long as anything is there.
    Nanoseconds longest_wait_ns() const noexcept {
        return in_burst_ || finishing_.load(std::memory_order_relaxed) ? usual_wait_ns : longest_idle_ns;
    }

    /// From any thread: no more input will come. What is there is joined, without waiting for any board; drained()
    /// tells when all is handed on.
    void finish() noexcept { finishing_.store(true, std::memory_order_release); }  // pairs with the acquire in do_work
    bool is_drained() const noexcept { return drained_.load(std::memory_order_acquire); }  // pairs with do_work

    const Counters<BuildCounter>& counters() const noexcept { return counters_; }
    const Counters<BoardCounter>& board_counters(std::uint32_t board) const noexcept { return board_counters_[board]; }
    /// For the control thread's log: which board is silent, and how often it was.
    BoardStatus status(std::uint32_t board) const noexcept;

  protected:
    using BoardMask = std::uint32_t;
    static constexpr BoardMask bit(std::uint32_t board) noexcept { return BoardMask{1} << board; }

    /// Throws ConfigError. Counters are added to `page` as "NAME" and "NAME.board0" and so on.
    BoardJoin(const MergerConfig& config, BlockSource& source, const Clock& clock, CounterPage& page,
              const std::string& block_name);
    ~BoardJoin() = default;

    // --- Provided by derived classes
    /// False: the output is blocked; nothing is joined meanwhile.
    virtual bool try_make_way() noexcept = 0;
    /// Takes heads while no board is waited for (waited_for()). Returns how far it came.
    virtual std::size_t join(Nanoseconds now_ns) noexcept = 0;
    virtual void begin_joining() noexcept {}
    /// What began the burst was not the boards': times before those joined so far are no longer late. False: not now,
    /// the same is asked again before anything else is joined.
    virtual bool try_begin_anew() noexcept {
        begin_joining();
        return true;
    }
    /// The burst is over: hands on the rest of it. False: not now, the same is asked again.
    virtual bool try_end_joining() noexcept = 0;
    /// The end of each step; `work`: what it has done.
    virtual void end_step(Nanoseconds now_ns, std::size_t work) noexcept = 0;
    /// Fragments of the board before this tick are late.
    virtual std::uint64_t late_before(std::uint32_t board) const noexcept = 0;

    void advance(std::uint32_t board) noexcept;
    /// After each step forward in time: heads in doubt that the others have come near to are trusted. So what is joined
    /// does not depend on how many steps a call makes.
    void look_at_doubts() noexcept {
        if (doubted_ != 0) [[unlikely]]
            show_doubted_heads();
    }
    /// Boards whose head is not trusted are waited for, too.
    BoardMask waited_for() const noexcept { return all_boards_ & ~(has_head_ | ended_ | silent_); }

    // What the loop over heads touches.
    std::array<FineTime, max_boards> heads_;  ///< of every board's stream, no_fragment where there is none
    std::uint32_t n_boards_;
    BoardMask all_boards_;
    BoardMask has_head_ = 0;
    BoardMask ended_ = 0;           ///< gave the end of this burst
    BoardMask silent_ = 0;          ///< not waited for in this burst
    BoardMask doubted_ = 0;         ///< boards whose head is not trusted
    std::uint64_t last_ticks_ = 0;  ///< of what was taken last; times are extended to be near it
    std::uint32_t burst_id_ = 0;
    bool in_burst_ = false;
    Nanoseconds burst_origin_ns_ = 0;  ///< the front ends' wall clock at timestamp 0 of the burst; 0: not known
    Counters<BuildCounter> counters_;
    std::vector<BoardStream> streams_;
    MergerConfig config_;
    std::vector<Counters<BoardCounter>> board_counters_;

  private:
    std::size_t take_input() noexcept;
    void take(std::uint32_t board, const receive::Completion& completion) noexcept;
    void join_burst(std::uint32_t board, const receive::Completion& completion) noexcept;
    void disown(std::uint32_t board) noexcept;
    bool begin_anew() noexcept;
    /// What the burst has come to counts no more as soon as it is to begin anew.
    std::uint64_t late_limit(std::uint32_t board) const noexcept { return begins_anew_ ? 0 : late_before(board); }
    bool is_gone(std::uint32_t burst_id) const noexcept;

    bool is_half(std::uint32_t n_boards) const noexcept { return 2 * n_boards >= n_boards_; }
    bool are_half(BoardMask boards) const noexcept {
        return is_half(static_cast<std::uint32_t>(std::popcount(boards)));
    }
    void show_head(std::uint32_t board) noexcept;
    void show_doubted_heads() noexcept;
    bool believe_heads() noexcept;
    bool goes_on() const noexcept { return has_head_ != 0 && waited_for() == 0; }
    std::uint32_t n_boards_at(FineTime head) const noexcept;
    std::uint32_t n_boards_with(std::uint32_t burst_id) const noexcept;
    bool half_waits() const noexcept;
    bool half_has_ended() const noexcept { return are_half(ended_); }
    void leave_stuck_burst() noexcept;
    void make_room() noexcept;

    void note_origin(std::uint32_t board, const receive::Completion& completion) noexcept;
    Nanoseconds choose_burst_origin() const noexcept;
    bool choose_burst(std::uint32_t& burst_id) const noexcept;
    std::uint32_t choose_origin(std::uint32_t burst_id) const noexcept;
    bool begin_burst() noexcept;
    bool is_burst_over(bool finishing) const noexcept;
    bool end_burst() noexcept;

    /// When a condition arose; nothing while there is none.
    using Since = std::optional<Nanoseconds>;
    void follow(Since& since_ns, bool is_so) const noexcept;
    Nanoseconds taken_until_ns(std::uint32_t board) const noexcept;
    Nanoseconds read_until_ns() const noexcept;
    Since waits_since_ns() noexcept;
    std::size_t watch_silence() noexcept;
    void set_state(std::uint32_t board, BoardState state) noexcept;
    void collect_dropped() noexcept;

    BlockSource& source_;
    const Clock& clock_;
    // Time-outs, all on the monotonic clock of the stage before.
    std::array<Nanoseconds, max_boards> read_until_ns_{};  ///< until when all of the board has been taken
    Nanoseconds newest_given_ns_;                          ///< of all blocks
    std::array<Since, max_boards> full_since_ns_{};        ///< no room for the board's next block
    Since half_waits_since_ns_;                            ///< with another burst
    Since half_ended_since_ns_;                            ///< or waits: nothing more may come for this one
    struct Origin {
        std::uint32_t burst_id;
        Nanoseconds wall_ns;
    };
    std::array<Origin, max_boards> origins_{};  ///< as each board told it last
    FineTime far_fine_;                         ///< farther ahead than this needs half of the boards
    FineTime believed_ = 0;                     ///< of what was joined last, when has_believed_
    bool has_believed_ = false;
    BoardMask gave_data_ = 0;     ///< boards with fragments in this burst
    BoardMask in_burst_now_ = 0;  ///< boards with blocks of this burst, without those whose source was not the board
    bool begins_anew_ = false;    ///< half of the boards were in this burst, and are no longer
    struct GoneBurst {
        std::uint32_t id = 0;
        BoardMask boards = 0;  ///< that were in it; none: not gone
    };
    std::array<GoneBurst, 4> gone_bursts_{};  ///< the last bursts handed on
    std::size_t n_gone_bursts_ = 0;
    std::atomic<bool> finishing_{false};
    std::atomic<bool> drained_{false};
};

}  // namespace anello::events

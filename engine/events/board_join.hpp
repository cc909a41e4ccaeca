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

/// Joins the streams of fragments of several boards, burst by burst. It decides which fragments may be used and which
/// boards are waited for; derived classes decide what to make of the fragments.
///
/// A board without data is waited for until it is silent or has ended its burst. It becomes silent when everything that
/// it sent within a timeout after the others' next fragment, and after the last event, has been read and contains
/// nothing (within two where more boards are waited for than have a fragment); unread data does not count as missing
/// (BlockSource::read_until_ns). Bursts follow one another: blocks of another burst wait, and a burst
/// is over when every board has ended it or is silent.
///
/// Fewer than half of the boards cannot affect the others. A burst begins when half of the boards are in it. Time
/// advances in steps up to the silence timeout, or to a time that half of the boards have reached. A head beyond that
/// is doubted: its board is waited for as if it had none, and if no other board follows by the end of the burst, its
/// fragments are dropped. One thread calls do_work(); any thread may read counters and states.
class BoardJoin {
  public:
    struct BoardStatus {
        BoardState state;
        std::uint64_t silences;
    };

    BoardJoin(const BoardJoin&) = delete;
    BoardJoin& operator=(const BoardJoin&) = delete;

    /// Hot path: no allocation, no lock, no log, no throw. Returns the number of steps forward; 0: nothing to do.
    std::size_t do_work() noexcept;

    /// How long the caller may wait for input: within a burst only briefly, so that time-outs are checked.
    Nanoseconds longest_wait_ns() const noexcept {
        return in_burst_ || finishing_.load(std::memory_order_relaxed) ? usual_wait_ns : longest_idle_ns;
    }

    /// Any thread: there is no more input. Joins the fragments it has without waiting for any board; is_drained()
    /// returns true when all is handed on.
    void finish() noexcept { finishing_.store(true, std::memory_order_release); }  // pairs with the acquire in do_work
    bool is_drained() const noexcept { return drained_.load(std::memory_order_acquire); }  // pairs with do_work

    const Counters<BuildCounter>& counters() const noexcept { return counters_; }
    const Counters<BoardCounter>& board_counters(std::uint32_t board) const noexcept { return board_counters_[board]; }
    /// For the control thread's log: whether a board is silent, and how often it was.
    BoardStatus status(std::uint32_t board) const noexcept;

  protected:
    using BoardMask = std::uint32_t;
    static constexpr BoardMask bit(std::uint32_t board) noexcept { return BoardMask{1} << board; }

    /// Throws ConfigError. Counters are added to `page` as "NAME" and "NAME.board0" and so on.
    BoardJoin(const MergerConfig& config, BlockSource& source, const Clock& clock, CounterPage& page,
              const std::string& block_name);
    ~BoardJoin() = default;

    // --- Provided by derived classes
    /// Returns false if the output is blocked; then nothing is joined.
    virtual bool try_make_way() noexcept = 0;
    /// Takes heads while no board is waited for (waited_for()). Returns the number of steps forward.
    virtual std::size_t join(Nanoseconds now_ns) noexcept = 0;
    virtual void begin_joining() noexcept {}
    /// The burst was begun by data that was not the boards', so fragments before those joined so far are no longer
    /// late. Returns false if it must be called again before anything else is joined.
    virtual bool try_begin_anew() noexcept {
        begin_joining();
        return true;
    }
    /// Hands on the rest of a burst that is over. Returns false if it must be called again.
    virtual bool try_end_joining() noexcept = 0;
    /// Called at the end of each step; `work` is what the step has done.
    virtual void end_step(Nanoseconds now_ns, std::size_t work) noexcept = 0;
    /// Fragments of the board before this tick are late.
    virtual std::uint64_t late_before(std::uint32_t board) const noexcept = 0;

    void advance(std::uint32_t board) noexcept;
    /// Call it after each step forward in time: it trusts doubted heads that the others have come near. So the result
    /// does not depend on the number of steps in a call.
    void look_at_doubts() noexcept {
        if (doubted_ != 0) [[unlikely]]
            show_doubted_heads();
    }
    /// The boards to wait for, including those with a doubted head.
    BoardMask waited_for() const noexcept { return all_boards_ & ~(has_head_ | ended_ | silent_); }

    // used by the loop over heads
    std::array<FineTime, max_boards> heads_;  ///< of every board's stream; no_fragment if it has none
    std::uint32_t n_boards_;
    BoardMask all_boards_;
    BoardMask has_head_ = 0;
    BoardMask ended_ = 0;           ///< boards that have ended this burst
    BoardMask silent_ = 0;          ///< boards not waited for in this burst
    BoardMask doubted_ = 0;         ///< boards with a doubted head
    std::uint64_t last_ticks_ = 0;  ///< of the last fragment taken; timestamps are extended to be near it
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
    /// Once the burst is about to begin anew, nothing is late.
    std::uint64_t late_limit(std::uint32_t board) const noexcept { return begins_anew_ ? 0 : late_before(board); }
    bool is_gone(std::uint32_t burst_id) const noexcept;

    bool is_half(std::uint32_t n_boards) const noexcept { return 2 * n_boards >= n_boards_; }
    bool are_half(BoardMask boards) const noexcept {
        return is_half(static_cast<std::uint32_t>(std::popcount(boards)));
    }
    void show_head(std::uint32_t board) noexcept;
    void show_doubted_heads() noexcept;
    bool believe_heads() noexcept;
    bool can_join() const noexcept { return has_head_ != 0 && waited_for() == 0; }
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

    /// Start of a condition; nothing while it is not met.
    using Since = std::optional<Nanoseconds>;
    void follow(Since& since_ns, bool is_so) const noexcept;
    Nanoseconds taken_until_ns(std::uint32_t board) const noexcept;
    Nanoseconds read_until_ns() const noexcept;
    struct Wait {
        Since since_ns;
        Nanoseconds longest_ns;
    };
    Wait wait() noexcept;
    std::size_t join_at(Nanoseconds now_ns) noexcept;
    std::size_t watch_silence() noexcept;
    void set_state(std::uint32_t board, BoardState state) noexcept;
    void collect_dropped() noexcept;

    BlockSource& source_;
    const Clock& clock_;
    // Time-outs, all on the monotonic clock of the previous stage.
    std::array<Nanoseconds, max_boards> read_until_ns_{};  ///< time until which all data of the board has been taken
    Nanoseconds newest_given_ns_;                          ///< of all blocks
    std::array<Since, max_boards> full_since_ns_{};        ///< since when the board's next block has no room
    std::array<Nanoseconds, max_boards> last_data_ns_{};   ///< when the board's last data of this burst was given
    Nanoseconds last_joined_ns_ = 0;                       ///< when the last fragments were joined
    Since half_waits_since_ns_;                            ///< since when half of the boards wait with another burst
    Since half_ended_since_ns_;  ///< since when half of the boards have ended the burst, or wait with another one
    struct Origin {
        std::uint32_t burst_id;
        Nanoseconds wall_ns;
    };
    std::array<Origin, max_boards> origins_{};  ///< last reported by each board
    FineTime far_fine_;                         ///< longest step of time without support from half of the boards
    FineTime believed_ = 0;                     ///< time of the last joined fragment, if has_believed_
    bool has_believed_ = false;
    BoardMask gave_data_ = 0;     ///< boards with fragments in this burst
    BoardMask in_burst_now_ = 0;  ///< boards with blocks of this burst, without those disowned
    bool begins_anew_ = false;    ///< half of the boards were in this burst, and no longer are
    struct GoneBurst {
        std::uint32_t id = 0;
        BoardMask boards = 0;  ///< boards that were in it; none: it does not count as handed on
    };
    std::array<GoneBurst, 4> gone_bursts_{};  ///< the last bursts handed on
    std::size_t n_gone_bursts_ = 0;
    std::atomic<bool> finishing_{false};
    std::atomic<bool> drained_{false};
};

}  // namespace anello::events

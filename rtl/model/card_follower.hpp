// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <utility>

#include "Vdata_path.h"
#include "card_events.hpp"
#include "software_path.hpp"

/// Makes the software follow the card. With faults, the outcome of a fragment depends on which fragments have arrived
/// when an event is sent. So the software gets each fragment when the card's merger has seen it, and makes a step when
/// the card has decided something: an event, a jump, silences, the begin or end of a burst. Each step may hand on one
/// event or one end of burst if the card has, and nothing otherwise; time advances only when the card reports the end
/// of a time-out. All else the software decides itself. When a store is nearly full, the card drops heads that other
/// boards do not follow; the software, which holds only heads here, would not: stores must be deep enough.
class CardFollower {
  public:
    /// A batch has one event; incomplete events are kept, as back-pressure would not delay rejected ones.
    explicit CardFollower(software::Path& path) : path_(path) {}

    bool is_verbose = false;

    /// Takes a block that was committed to the board's store.
    void queue(std::uint32_t board, const software::Block& block) {
        if (block.is_end) of_[board].queue.push_back(block);
        for (const software::Fragment& f : block.fragments)
            of_[board].queue.push_back({{f}, block.burst_id, false, block.stamp});
    }

    /// Call it before each edge. Returns the first difference between software and card; "": there is none.
    std::string follow(const Vdata_path& top, std::uint64_t cycle) {
        cycle_ = cycle;
        burst_ = top.burst;
        const bool leaves = leaves_burst(top);
        flags_ = {top.shown, top.doubted, top.silent, top.ended};
        for (std::uint32_t b = 0; b < card::n_boards; ++b) follow_board(top, b);
        // A head's successor that is in the store when the event is sent is seen with it, a cycle later.
        if (n_decided_ > n_stepped_) step_event();
        n_decided_ += top.event_complete || top.event_incomplete;
        if (top.burst_begins) give_waiting(), step("a burst begins", 0);
        if (top.jump) step("a jump", 0);
        if (top.silenced) give_waiting(), step("silence", 0, top.read_until + slack);
        if (leaves) give_waiting(), step("a burst is left", 0, top.read_until + slack);
        if (top.burst_over) end_burst(top);
        // Conditions for time-outs begin when they are checked.
        if (cycle_ - last_active_ == quiet_cycles) step("quiet", 0);
        return std::exchange(failure_, "");
    }

    /// Number of fragments that the card dropped as late, as later ones of their board were in the current burst again:
    /// the software keeps them until their burst comes (docs/reference/card-merger.md, difference 2).
    std::uint64_t n_behind(std::uint32_t board) const { return of_[board].n_behind; }
    /// Number of fragments that the card's merger has not reached.
    std::uint64_t n_left(std::uint32_t board) const {
        const auto& queue = of_[board].queue;
        return static_cast<std::uint64_t>(std::count_if(queue.begin(), queue.end(), [](auto& b) { return !b.is_end; }));
    }

  private:
    using Counter = anello::events::BuildCounter;
    /// The software notes the begin of a wait later than the card: when it gets the fragment with which it begins.
    static constexpr std::int64_t slack = 2000;
    static constexpr std::uint64_t quiet_cycles = 40;

    struct Board {
        std::deque<software::Block> queue;       ///< one fragment, or an end, each
        bool is_given = false;                   ///< the first of the queue waits, and the software has it
        bool waits = false, has_waited = false;  ///< the board waits, or has waited, with the first of the queue
        bool is_doubted = false;
        std::uint64_t n_behind = 0;
    };

    static bool has(std::uint64_t flags, std::uint32_t board) { return ((flags >> board) & 1) != 0; }

    void follow_board(const Vdata_path& top, std::uint32_t b) {
        Board& board = of_[b];
        // A head in doubt that is dropped was given when it became the head.
        const bool drops_head = board.is_doubted && !has(top.doubted, b) && !has(top.shown, b);
        const bool drops = has(top.late, b) || has(top.ahead, b);
        if (drops_head && has(top.ahead, b) && cycle_ != last_end_ + 1)
            fail("board " + std::to_string(b) + "'s store was full of what nobody follows: deeper stores compare");
        board.is_doubted = has(top.doubted, b);
        if (has(top.taken, b) || has(top.duplicate, b)) give_fragment(b, false);
        if (drops && !drops_head) give_fragment(b, true);
        if (has(top.waiting, b) && !board.waits) begin_waiting(b);
        board.waits = has(top.waiting, b);
        const bool ends = has(top.ended, b) && !board.queue.empty() && board.queue.front().is_end;
        if (ends && !board.is_given && board.queue.front().burst_id == burst_) give_front(b);
        if (is_verbose && (has(top.taken, b) || has(top.duplicate, b) || drops))
            std::printf("cycle %llu board %u%s%s%s%s\n", static_cast<unsigned long long>(cycle_), b,
                        has(top.taken, b) ? " taken" : "", has(top.duplicate, b) ? " duplicate" : "",
                        has(top.late, b) ? " late" : "", has(top.ahead, b) ? " ahead" : "");
    }

    /// True when the card ends the burst for boards that stay in it long after half of the boards have left it.
    bool leaves_burst(const Vdata_path& top) const {
        bool leaves = false;
        for (std::uint32_t b = 0; b < card::n_boards; ++b) {
            const bool has_end = !of_[b].queue.empty() && of_[b].queue.front().is_end;
            leaves = leaves || (has(top.ended, b) && !has(flags_.ended, b) && !has_end);
        }
        return leaves;
    }
    void begin_waiting(std::uint32_t b) {
        Board& board = of_[b];
        while (!board.queue.empty() && board.queue.front().is_end &&
               (board.is_given || is_known(board.queue.front().burst_id)))
            pass_end(b);
        board.has_waited = true;
    }
    /// The card does not report the end of a past burst, nor an end before packets of the current burst.
    void pass_end(std::uint32_t b) {
        if (!of_[b].is_given && of_[b].queue.front().burst_id == burst_) give(b);
        pop(b);
    }
    void give_fragment(std::uint32_t b, bool is_dropped) {
        Board& board = of_[b];
        while (!board.queue.empty() && board.queue.front().is_end) pass_end(b);
        if (board.queue.empty()) return fail("board " + std::to_string(b) + ": a fragment that never came");
        if (is_dropped && !is_known(board.queue.front().burst_id))
            ++board.n_behind;
        else if (!board.is_given)
            give(b);
        pop(b);
    }
    bool is_known(std::uint32_t burst) const {
        const auto end = gone_.begin() + static_cast<std::ptrdiff_t>(std::min(n_gone_, gone_.size()));
        return burst == burst_ || std::find(gone_.begin(), end, burst) != end;
    }
    void give_front(std::uint32_t b) {
        give(b);
        pop(b);
    }
    void give(std::uint32_t b) {
        const software::Block& block = of_[b].queue.front();
        if (is_verbose)
            std::printf("cycle %llu board %u gives burst %x %s %x\n", static_cast<unsigned long long>(cycle_), b,
                        block.burst_id, block.is_end ? "end" : "ticks",
                        block.is_end ? 0 : block.fragments[0].timestamp_ticks);
        path_.source.give(b, block);
        last_active_ = cycle_;
    }
    void pop(std::uint32_t b) {
        of_[b].queue.pop_front();
        of_[b].is_given = of_[b].has_waited = false;
    }
    /// The items that boards wait with matter when bursts begin and end.
    void give_waiting() {
        for (std::uint32_t b = 0; b < card::n_boards; ++b) {
            Board& board = of_[b];
            if (board.queue.empty() || board.is_given || !board.has_waited) continue;
            give(b);
            board.is_given = true;
        }
    }

    void step(const char* what, std::size_t n_batches, std::int64_t read_until = 0) {
        path_.clock.set(std::max(path_.clock.monotonic_ns(), read_until));
        path_.source.read_until = read_until;
        path_.step(n_batches);
        path_.source.read_until = 0;
        if (is_verbose)
            std::printf("cycle %llu %s: card %llu software %llu events; shown %x doubted %x silent %x ended %x\n",
                        static_cast<unsigned long long>(cycle_), what, static_cast<unsigned long long>(n_stepped_),
                        static_cast<unsigned long long>(path_.value(Counter::events_built)), flags_.shown,
                        flags_.doubted, flags_.silent, flags_.ended);
    }
    void step_event() {
        ++n_stepped_;
        step("event", 1);
        if (path_.value(Counter::events_built) != n_stepped_) fail("the software does not make this event");
    }
    void end_burst(const Vdata_path& top) {
        // If half of the boards have ended the burst, waiting items do not count, and the card may still drop this one.
        const std::uint32_t ended = top.ended;
        if (2 * std::popcount(ended) < static_cast<int>(card::n_boards)) give_waiting();
        gone_[n_gone_++ % gone_.size()] = burst_;
        last_end_ = cycle_;
        step("end of burst", 1, top.read_until + slack);
        if (path_.value(Counter::bursts_out) != n_gone_) fail("the software does not end this burst");
    }
    void fail(const std::string& what) {
        if (failure_.empty()) failure_ = what;
    }

    software::Path& path_;
    std::array<Board, card::n_boards> of_;
    std::array<std::uint32_t, 4> gone_{};
    std::size_t n_gone_ = 0;
    std::uint64_t n_decided_ = 0, n_stepped_ = 0, cycle_ = 0, last_active_ = 0, last_end_ = 0;
    std::uint32_t burst_ = 0;
    struct {
        unsigned shown, doubted, silent, ended;
    } flags_{};  ///< the card's flags, for messages
    std::string failure_;
};

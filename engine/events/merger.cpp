// SPDX-License-Identifier: Apache-2.0
#include "events/merger.hpp"

#include <algorithm>
#include <bit>

#include "core/assert.hpp"

namespace anello::events {
Merger::Merger(const MergerConfig& config, BlockSource& source, memory::PersistentBuffers& batches, BatchSink& sink,
               const Clock& clock, CounterPage& page, const std::string& block_name)
    : BoardJoin(config, source, clock, page, block_name),
      window_ticks_(config.window_ticks),
      writer_(batches, sink, config.batch, clock, counters_),
      clock_(clock) {}

std::size_t Merger::join(Nanoseconds now_ns) noexcept {
    writer_.begin_work(now_ns);
    writer_.set_burst_origin(burst_origin_ns_);
    const std::size_t n_events = merge();
    if (n_events > 0) writer_.end_work(clock_.monotonic_ns());
    return n_events;
}

/// Returns false while no buffer is free for the last batch.
bool Merger::try_end_joining() noexcept {
    if (!writer_.is_open() && !writer_.make_room(0, burst_id_)) return false;
    writer_.close(true);
    return true;
}

/// Ends the burst for the next stage, because the boards did not begin it.
bool Merger::try_begin_anew() noexcept {
    if (!try_end_joining()) return false;
    begin_joining();
    return true;
}

void Merger::end_step(Nanoseconds now_ns, std::size_t work) noexcept {
    const bool is_due = now_ns - writer_.first_event_ns() >= config_.batch_time_ns;
    if (writer_.n_events() > 0 && (is_due || (config_.close_when_idle && work == 0))) writer_.close(false);
}

/// Earlier fragments of the board can no longer join an event.
std::uint64_t Merger::late_before(std::uint32_t board) const noexcept {
    if (!has_last_) return 0;
    return (last_members_ & bit(board)) != 0 ? last_ticks_ : last_ticks_ + window_ticks_ + 1;
}

/// Builds events at full speed while every board that is waited for has a fragment, at most one batch, so that the time
/// is checked.
std::size_t Merger::merge() noexcept {
    std::size_t n_events = 0;
    while (n_events < config_.batch.max_events && waited_for() == 0) {
        FineTime first = heads_[0];
        for (std::uint32_t board = 1; board < n_boards_; ++board) first = std::min(first, heads_[board]);
        if (first == no_fragment || !build_event(first)) break;
        ++n_events;
        look_at_doubts();
    }
    counters_.add(BuildCounter::events_built, n_complete_ + n_incomplete_);
    counters_.add(BuildCounter::events_complete, n_complete_);
    counters_.add(BuildCounter::events_incomplete, n_incomplete_);
    counters_.add(BuildCounter::fragments_merged, n_merged_);
    n_complete_ = n_incomplete_ = n_merged_ = 0;
    return n_events;
}

/// Returns false and changes nothing if there is no room for the event.
bool Merger::build_event(FineTime first) noexcept {
    BoardMask members = 0;
    std::uint32_t n_hits = 0;
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        if (ticks_of(heads_[board]) - ticks_of(first) > window_ticks_) continue;
        members |= bit(board);
        n_hits += streams_[board].n_hits();
    }
    const BoardMask missing = all_boards_ & ~members;
    if (missing == 0 || config_.keep_incomplete) {
        if (!writer_.make_room(n_hits, burst_id_)) return false;
        append(members, first);
    } else {
        reject(members);
    }
    n_merged_ += static_cast<std::uint64_t>(std::popcount(members));
    ++(missing == 0 ? n_complete_ : n_incomplete_);
    if (missing != 0) count_missing(missing);
    last_members_ = members;
    last_ticks_ = ticks_of(first);
    has_last_ = true;
    return true;
}

void Merger::append(BoardMask members, FineTime first) noexcept {
    writer_.begin_event(first);
    for (BoardMask left = members; left != 0; left &= left - 1) {
        const auto board = static_cast<std::uint32_t>(std::countr_zero(left));
        writer_.append(streams_[board].fragment(), heads_[board]);
        advance(board);
    }
    writer_.end_event(all_boards_ & ~members);
}

void Merger::reject(BoardMask members) noexcept {
    counters_.add(BuildCounter::events_rejected);
    for (BoardMask left = members; left != 0; left &= left - 1) {
        const auto board = static_cast<std::uint32_t>(std::countr_zero(left));
        counters_.add(BuildCounter::hits_rejected, streams_[board].n_hits());
        advance(board);
    }
}

void Merger::count_missing(BoardMask missing) noexcept {
    for (BoardMask left = missing; left != 0; left &= left - 1)
        board_counters_[static_cast<std::uint32_t>(std::countr_zero(left))].add(BoardCounter::missing);
}

}  // namespace anello::events

// SPDX-License-Identifier: Apache-2.0
#include "build/merger.hpp"

#include <algorithm>
#include <bit>

#include "core/assert.hpp"

/// The event loop. Bursts and silence are in merger_bursts.cpp.
namespace anello::build {
namespace {

constexpr std::uint32_t bit(std::uint32_t board) noexcept {
    return std::uint32_t{1} << board;
}

const MergerConfig& validated(const MergerConfig& config) {
    config.validate();
    return config;
}

}  // namespace

Merger::Merger(const MergerConfig& config, BlockSource& source, memory::PersistentBuffers& batches, BatchSink& sink,
               const Clock& clock, CounterPage& page, const std::string& block_name)
    : n_boards_(validated(config).n_boards),
      window_ticks_(config.window_ticks),
      all_boards_(static_cast<BoardMask>((std::uint64_t{1} << config.n_boards) - 1)),
      counters_(page.add_block<BuildCounter>(block_name)),
      writer_(batches, sink, config.batch, clock, counters_),
      config_(config),
      source_(source),
      clock_(clock) {
    heads_.fill(no_fragment);
    streams_.reserve(n_boards_);
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        streams_.emplace_back(source, board, config.blocks_per_board, config.max_fragments_per_block);
        board_counters_.push_back(page.add_block<BoardCounter>(block_name + ".board" + std::to_string(board)));
    }
}

std::size_t Merger::do_work() noexcept {
    const bool finishing = finishing_.load(std::memory_order_acquire);  // before the input is looked at
    const Nanoseconds now_ns = clock_.monotonic_ns();
    std::size_t work = take_input();
    const bool input_is_dry = work == 0;
    if (!writer_.flush()) return work;
    if (!in_burst_) begin_burst();
    if (in_burst_) {
        writer_.begin_work(now_ns);
        const std::size_t n_events = merge();
        if (n_events > 0) writer_.end_work(clock_.monotonic_ns());
        work += n_events;
        if (finishing && input_is_dry) ended_ |= waited_for();
        work += watch_silence(now_ns);
        if (has_head_ == 0 && waited_for() == 0 && end_burst()) ++work;
    }
    const bool is_due = now_ns - writer_.first_event_ns() >= config_.batch_time_ns;
    if (writer_.n_events() > 0 && (is_due || (config_.close_when_idle && work == 0))) writer_.close(false);
    collect_dropped();
    if (finishing && work == 0 && !in_burst_ && writer_.flush()) drained_.store(true, std::memory_order_release);
    return work;
}

/// Full speed while every board that is waited for has a fragment; one batch at most, so that time is looked at.
std::size_t Merger::merge() noexcept {
    std::size_t n_events = 0;
    while (n_events < config_.batch.max_events && waited_for() == 0) {
        FineTime first = heads_[0];
        for (std::uint32_t board = 1; board < n_boards_; ++board) first = std::min(first, heads_[board]);
        if (first == no_fragment || !build_event(first)) break;
        ++n_events;
    }
    counters_.add(BuildCounter::events_built, n_complete_ + n_incomplete_);
    counters_.add(BuildCounter::events_complete, n_complete_);
    counters_.add(BuildCounter::events_incomplete, n_incomplete_);
    counters_.add(BuildCounter::fragments_merged, n_merged_);
    n_complete_ = n_incomplete_ = n_merged_ = 0;
    return n_events;
}

/// False, and nothing changed, when there is no room for the event.
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

void Merger::advance(std::uint32_t board) noexcept {
    heads_[board] = streams_[board].advance();
    if (heads_[board] == no_fragment) has_head_ &= ~bit(board);
}

void Merger::count_missing(BoardMask missing) noexcept {
    for (BoardMask left = missing; left != 0; left &= left - 1)
        board_counters_[static_cast<std::uint32_t>(std::countr_zero(left))].add(BoardCounter::missing);
}

}  // namespace anello::build

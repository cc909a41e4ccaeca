// SPDX-License-Identifier: Apache-2.0
#include "events/card_events.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "events/fine_time.hpp"

namespace anello::events {
namespace {

using Card = receive::NanetMergeCounter;

constexpr unsigned channel_bits = 9;        // bits of a hit's channel; the bits above are its signed time
constexpr int fine_of_hit_time = 256 / 64;  // 1/64 tick in 1/256 tick

}  // namespace

CardEvents::CardEvents(const MergerConfig& config, std::uint32_t n_channels, receive::NanetMerger& card,
                       memory::PersistentBuffers& batches, BatchSink& sink, const Clock& clock, CounterPage& page)
    : config_(config),
      n_channels_(n_channels),
      card_(card),
      clock_(clock),
      counters_(page.add_block<BuildCounter>("build")),
      read_(card.counters()),
      writer_(batches, sink, config.batch, clock, counters_) {
    config_.validate();
    for (std::uint32_t board = 0; board < config_.n_boards; ++board)
        boards_.push_back(page.add_block<BoardCounter>("build.board" + std::to_string(config_.first_board + board)));
}

std::size_t CardEvents::do_work() noexcept {
    const bool finishing = finishing_.load(std::memory_order_acquire);
    if (!writer_.flush()) return 0;
    const Nanoseconds now_ns = clock_.monotonic_ns();
    const std::uint64_t n_before = n_taken_;
    const bool took_all = take_events(now_ns);
    const std::size_t n_events = n_taken_ - n_before;
    const std::size_t work = !took_all ? n_events : n_events + (finishing ? drain() : card_.do_work());
    const bool is_due = now_ns - writer_.first_event_ns() >= config_.batch_time_ns;
    if (writer_.n_events() > 0 && (is_due || (config_.close_when_idle && work == 0))) writer_.close(false);
    if (card_.n_readings() != n_readings_) show_counts();
    return work;
}

/// Returns false if the output is blocked; the rest then stays in the card's buffers.
bool CardEvents::take_events(Nanoseconds now_ns) noexcept {
    receive::NanetEvent event;
    if (!card_.try_look(event)) return true;
    writer_.begin_work(now_ns);
    placed_ns_ = clock_.wall_ns();
    bool is_taken = true;
    do {
        is_taken = event.is_end() ? end_burst(event.head.burst) : take_event(event);
        if (is_taken) card_.take();
    } while (is_taken && card_.try_look(event));
    if (writer_.is_open()) writer_.end_work(clock_.monotonic_ns());
    return is_taken;
}

bool CardEvents::take_event(const receive::NanetEvent& event) noexcept {
    if (!make_room(event)) return false;
    append(event);
    const bool is_complete = event.head.missing == 0;
    ++n_taken_;
    n_incomplete_ += is_complete ? 0 : 1;
    read_.add(Card::events_read);
    counters_.add(BuildCounter::events_built);
    counters_.add(is_complete ? BuildCounter::events_complete : BuildCounter::events_incomplete);
    return true;
}

/// A batch contains events of one burst only.
bool CardEvents::make_room(const receive::NanetEvent& event) noexcept {
    if (writer_.is_open() && in_burst_ && burst_id_ != event.head.burst) writer_.close(false);
    std::uint32_t n_hits = 0;
    for (std::uint32_t board = 0; board < config_.n_boards; ++board) n_hits += event.n_hits(board);
    if (!writer_.make_room(n_hits, event.head.burst)) return false;
    burst_id_ = event.head.burst;
    in_burst_ = true;
    return true;
}

void CardEvents::append(const receive::NanetEvent& event) noexcept {
    const FineTime first = fine_time_of(event.head.timestamp, event.head.fine_time);
    const std::byte* from = event.hits.data();
    writer_.begin_event(first);
    for (std::uint32_t board = 0; board < config_.n_boards; ++board) {
        if (((event.head.missing >> board) & 1) != 0) continue;
        const std::uint32_t n_hits = event.n_hits(board);
        unpack(board, n_hits, from);
        from += (n_hits + 3) / 4 * 8;
        writer_.append({hit_id_.data(), hit_time_fine_.data(), n_hits, 0, event.kernel_ns, placed_ns_},
                       first + event.offset(board));
        read_.add(Card::hits_read, n_hits);
    }
    writer_.end_event(event.head.missing);
}

void CardEvents::unpack(std::uint32_t board, std::uint32_t n_hits, const std::byte* from) noexcept {
    const auto first_id = static_cast<std::uint16_t>((config_.first_board + board) * n_channels_);
    for (std::uint32_t i = 0; i < n_hits; ++i) {
        std::uint16_t hit = 0;
        std::memcpy(&hit, from + i * sizeof hit, sizeof hit);
        hit_id_[i] = static_cast<std::uint16_t>(first_id + (hit & ((1U << channel_bits) - 1)));
        const int time = static_cast<std::int16_t>(hit) >> channel_bits;
        hit_time_fine_[i] = static_cast<std::int16_t>(time * fine_of_hit_time);
    }
}

bool CardEvents::end_burst(std::uint32_t burst_id) noexcept {
    if (!close_burst(burst_id)) return false;
    read_.add(Card::ends_read);
    return true;
}

/// Returns false while no buffer is free for the last batch.
bool CardEvents::close_burst(std::uint32_t burst_id) noexcept {
    if (!writer_.is_open() && !writer_.make_room(0, burst_id)) return false;
    writer_.close(true);
    in_burst_ = false;
    counters_.add(BuildCounter::bursts_out);
    return true;
}

/// Ends a burst that the card does not end, because its boards have not ended it.
std::size_t CardEvents::drain() noexcept {
    if (!card_.finish()) return 1;
    if (in_burst_) {
        close_burst(burst_id_);
        return 1;
    }
    show_counts();
    if (writer_.flush()) drained_.store(true, std::memory_order_release);  // pairs with is_drained
    return 0;
}

/// Translates the card's registers into the counters of the stage build.
void CardEvents::show_counts() noexcept {
    using B = BuildCounter;
    n_readings_ = card_.n_readings();
    show_rejected();
    std::uint64_t n_in = 0, n_late = 0, n_duplicate = 0, n_ahead = 0, n_silenced = 0;
    for (std::uint32_t board = 0; board < config_.n_boards; ++board) {
        const receive::NanetBoardCounts& of = card_.board(board);
        n_in += show_board(board);
        n_late += of.late;
        n_duplicate += of.duplicate;
        n_ahead += of.ahead;
        n_silenced += of.silenced;
    }
    counters_.set(B::fragments_in, n_in);
    counters_.set(B::fragments_merged, read_[Card::fragments]);
    counters_.set(B::fragments_late, n_late);
    counters_.set(B::fragments_duplicate, n_duplicate);
    counters_.set(B::fragments_ahead, n_ahead);
    counters_.set(B::boards_silenced, n_silenced);
    counters_.set(B::hits_in, read_[Card::hits]);
    counters_.set(B::blocks_in, read_[Card::records_read]);
}

/// Counts rejected events, which the card does not deliver.
void CardEvents::show_rejected() noexcept {
    const std::uint64_t n_rejected = read_[Card::events_rejected];
    counters_.set(BuildCounter::events_rejected, n_rejected);
    counters_.set(BuildCounter::events_incomplete, n_incomplete_ + n_rejected);
    counters_.set(BuildCounter::events_built, n_taken_ + n_rejected);
}

/// Returns the number of the board's fragments that have an outcome.
std::uint64_t CardEvents::show_board(std::uint32_t board) noexcept {
    using B = BoardCounter;
    const receive::NanetBoardCounts& of = card_.board(board);
    const std::uint64_t n_events = read_[Card::events_complete] + read_[Card::events_incomplete];
    const std::uint64_t n_merged = n_events - std::min<std::uint64_t>(n_events, of.missing);  // registers may disagree
    const std::uint64_t n_in = n_merged + of.late + of.duplicate + of.ahead;
    const BoardState state = of.is_silent ? BoardState::silent : of.has_ended ? BoardState::ended : BoardState::live;
    boards_[board].set(B::fragments_in, n_in);
    boards_[board].set(B::fragments_late, of.late);
    boards_[board].set(B::fragments_duplicate, of.duplicate);
    boards_[board].set(B::fragments_ahead, of.ahead);
    boards_[board].set(B::missing, of.missing);
    boards_[board].set(B::silences, of.silenced);
    boards_[board].set(B::state, static_cast<std::uint64_t>(state));
    return n_in;
}

}  // namespace anello::events

// SPDX-License-Identifier: Apache-2.0
#include "build/board_join.hpp"

#include <algorithm>
#include <bit>

namespace anello::build {
namespace {

constexpr std::uint64_t burst_origin_ticks = std::uint64_t{1} << 32;  // room for timestamps before the first one

constexpr std::uint32_t bit(std::uint32_t board) noexcept {
    return std::uint32_t{1} << board;
}

const MergerConfig& validated(const MergerConfig& config) {
    config.validate();
    return config;
}

}  // namespace

BoardJoin::BoardJoin(const MergerConfig& config, BlockSource& source, const Clock& clock, CounterPage& page,
                     const std::string& block_name)
    : n_boards_(validated(config).n_boards),
      all_boards_(static_cast<BoardMask>((std::uint64_t{1} << config.n_boards) - 1)),
      counters_(page.add_block<BuildCounter>(block_name)),
      config_(config),
      source_(source),
      clock_(clock),
      time_(clock.monotonic_ns()) {
    heads_.fill(no_fragment);
    streams_.reserve(n_boards_);
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        streams_.emplace_back(source, board, config.blocks_per_board, config.max_fragments_per_block);
        board_counters_.push_back(
            page.add_block<BoardCounter>(block_name + ".board" + std::to_string(config.first_board + board)));
    }
}

std::size_t BoardJoin::do_work() noexcept {
    const bool finishing = finishing_.load(std::memory_order_acquire);  // before the input is looked at
    const Nanoseconds now_ns = clock_.monotonic_ns();
    time_.look(now_ns);
    std::size_t work = take_input();
    const bool input_is_dry = work == 0;
    if (!try_make_way()) return work;
    if (!in_burst_) begin_burst();
    if (in_burst_) {
        work += join(now_ns);
        if (finishing && input_is_dry) ended_ |= waited_for();
        work += watch_silence();
        if (has_head_ == 0 && waited_for() == 0 && end_burst()) ++work;
    }
    end_step(now_ns, work);
    collect_dropped();
    if (finishing && work == 0 && !in_burst_ && try_make_way()) drained_.store(true, std::memory_order_release);
    return work;
}

void BoardJoin::advance(std::uint32_t board) noexcept {
    heads_[board] = streams_[board].advance();
    if (heads_[board] == no_fragment) has_head_ &= ~bit(board);
}

std::size_t BoardJoin::take_input() noexcept {
    std::size_t n_taken = 0;
    receive::Completion completion;
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        while (streams_[board].has_room() && source_.try_take(board, completion)) {
            take(board, completion);
            ++n_taken;
        }
    }
    return n_taken;
}

void BoardJoin::take(std::uint32_t board, const receive::Completion& completion) noexcept {
    counters_.add(BuildCounter::blocks_in);
    counters_.add(BuildCounter::fragments_in, completion.n_fragments);
    counters_.add(BuildCounter::hits_in, completion.n_hits);
    board_counters_[board].add(BoardCounter::fragments_in, completion.n_fragments);
    if (is_gone(completion.burst_id) && !(in_burst_ && completion.burst_id == burst_id_))
        streams_[board].drop(completion);
    else if (in_burst_ && completion.burst_id == burst_id_)
        join_burst(board, completion);
    else
        streams_[board].queue(completion);
}

void BoardJoin::join_burst(std::uint32_t board, const receive::Completion& completion) noexcept {
    if (completion.n_fragments > 0) {
        gave_data_ |= bit(board);
        silent_ &= ~bit(board);
        set_state(board, BoardState::live);
    }
    if (completion.reason >= receive::CloseReason::end_of_burst) {
        ended_ |= bit(board);
        set_state(board, BoardState::ended);
    }
    streams_[board].add(completion, last_ticks_, late_before(board));
    heads_[board] = streams_[board].head_time();
    has_head_ = heads_[board] == no_fragment ? has_head_ & ~bit(board) : has_head_ | bit(board);
}

bool BoardJoin::is_gone(std::uint32_t burst_id) const noexcept {
    const auto end = gone_bursts_.begin() + static_cast<std::ptrdiff_t>(std::min(n_gone_bursts_, gone_bursts_.size()));
    return std::find(gone_bursts_.begin(), end, burst_id) != end;
}

/// The burst that most boards wait with; of equals the nearest after the last one. A damaged burst number, or one board
/// ahead of the others, therefore does not lead.
bool BoardJoin::choose_burst(std::uint32_t& burst_id) const noexcept {
    std::uint32_t most = 0;
    const auto boards_with = [this](std::uint32_t wanted) {
        std::uint32_t n = 0;
        for (const BoardStream& stream : streams_) {
            bool found = false;
            stream.for_each_waiting(
                [&](const auto& completion, const auto&) { found |= completion.burst_id == wanted; });
            n += found ? 1 : 0;
        }
        return n;
    };
    const auto consider = [&](const receive::Completion& completion, const receive::FragmentColumns&) {
        const std::uint32_t n = boards_with(completion.burst_id);
        const bool is_nearer = completion.burst_id - burst_id_ < burst_id - burst_id_;
        if (n < most || (n == most && !is_nearer)) return;
        most = n;
        burst_id = completion.burst_id;
    };
    for (const BoardStream& stream : streams_) stream.for_each_waiting(consider);
    return most > 0;
}

bool BoardJoin::begin_burst() noexcept {
    std::uint32_t burst_id = 0;
    const bool nothing_waits =
        std::all_of(streams_.begin(), streams_.end(), [](const BoardStream& stream) { return stream.is_empty(); });
    if (nothing_waits || !choose_burst(burst_id)) return false;
    // All boards count time from the same origin: the timestamp of any fragment at hand.
    std::uint32_t first_timestamp = 0;
    for (const BoardStream& stream : streams_)
        stream.for_each_waiting([&](const receive::Completion& completion, const receive::FragmentColumns& columns) {
            if (completion.burst_id == burst_id && completion.n_fragments > 0)
                first_timestamp = columns.timestamp_ticks[0];
        });
    last_ticks_ = burst_origin_ticks + first_timestamp;
    in_burst_ = true;
    burst_id_ = burst_id;
    begin_joining();
    ended_ = 0;
    // A board that gave nothing in the whole last burst is not waited for until it does.
    silent_ &= ~gave_data_;
    gave_data_ = 0;
    waited_since_ns_.fill(0);
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        if (streams_[board].begin_burst(burst_id, last_ticks_)) ended_ |= bit(board);
        heads_[board] = streams_[board].head_time();
        if (heads_[board] == no_fragment && (ended_ & bit(board)) == 0) continue;
        has_head_ |= heads_[board] == no_fragment ? 0 : bit(board);
        gave_data_ |= has_head_ & bit(board);
        silent_ &= ~bit(board);
        set_state(board, (ended_ & bit(board)) != 0 ? BoardState::ended : BoardState::live);
    }
    return true;
}

/// Every board has ended or is silent, and all is joined.
bool BoardJoin::end_burst() noexcept {
    if (!try_end_joining()) return false;
    counters_.add(BuildCounter::bursts_out);
    gone_bursts_[n_gone_bursts_++ % gone_bursts_.size()] = burst_id_;
    in_burst_ = false;
    return true;
}

/// Boards are waited for when an event hangs on them, when another board is through with the burst, or when another
/// burst wants to begin. Otherwise there is just no data.
bool BoardJoin::someone_waits() const noexcept {
    if ((has_head_ | ended_) != 0) return true;
    return std::any_of(streams_.begin(), streams_.end(), [](const BoardStream& stream) { return !stream.is_empty(); });
}

/// Returns how many boards fell silent.
std::size_t BoardJoin::watch_silence() noexcept {
    const Nanoseconds now_ns = time_.now_ns();
    std::size_t n_silenced = 0;
    const BoardMask waited = someone_waits() ? waited_for() : 0;
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        Nanoseconds& since_ns = waited_since_ns_[board];
        if ((waited & bit(board)) == 0) {
            since_ns = 0;
        } else if (since_ns == 0) {
            since_ns = now_ns == 0 ? 1 : now_ns;  // 0 means: not waited for
        } else if (now_ns - since_ns >= config_.timeout_ns) {
            ++n_silenced;
            silent_ |= bit(board);
            since_ns = 0;
            counters_.add(BuildCounter::boards_silenced);
            board_counters_[board].add(BoardCounter::silences);
            set_state(board, BoardState::silent);
        }
    }
    return n_silenced;
}

void BoardJoin::set_state(std::uint32_t board, BoardState state) noexcept {
    board_counters_[board].set(BoardCounter::state, static_cast<std::uint64_t>(state));
}

BoardJoin::BoardStatus BoardJoin::status(std::uint32_t board) const noexcept {
    const Counters<BoardCounter>& counters = board_counters_[board];
    return {static_cast<BoardState>(counters[BoardCounter::state]), counters[BoardCounter::silences]};
}

void BoardJoin::collect_dropped() noexcept {
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        Dropped& dropped = streams_[board].dropped();
        if ((dropped.late | dropped.duplicates | dropped.unsorted_blocks) == 0) continue;
        counters_.add(BuildCounter::fragments_late, dropped.late);
        counters_.add(BuildCounter::hits_late, dropped.late_hits);
        counters_.add(BuildCounter::fragments_duplicate, dropped.duplicates);
        counters_.add(BuildCounter::hits_duplicate, dropped.duplicate_hits);
        counters_.add(BuildCounter::blocks_unsorted, dropped.unsorted_blocks);
        board_counters_[board].add(BoardCounter::fragments_late, dropped.late);
        board_counters_[board].add(BoardCounter::fragments_duplicate, dropped.duplicates);
        dropped = {};
    }
}

}  // namespace anello::build

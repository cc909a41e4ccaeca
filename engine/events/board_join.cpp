// SPDX-License-Identifier: Apache-2.0
#include "events/board_join.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

namespace anello::events {
namespace {

constexpr std::uint64_t burst_origin_ticks = std::uint64_t{1} << 32;  // leaves room for timestamps before the first one

/// How far time may advance without support from half of the boards: the time-out for boards.
FineTime far_fine_of(const MergerConfig& config) noexcept {
    return static_cast<FineTime>(static_cast<double>(config.timeout_ns) / fine_time_ns) + config.window_ticks * 256;
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
      newest_given_ns_(clock.monotonic_ns()),
      far_fine_(far_fine_of(config)) {
    heads_.fill(no_fragment);
    streams_.reserve(n_boards_);
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        streams_.emplace_back(source, board, config.blocks_per_board, config.max_fragments_per_block);
        board_counters_.push_back(
            page.add_block<BoardCounter>(block_name + ".board" + std::to_string(config.first_board + board)));
    }
}

std::size_t BoardJoin::do_work() noexcept {
    const bool finishing = finishing_.load(std::memory_order_acquire);  // read before the input is looked at
    const Nanoseconds now_ns = clock_.monotonic_ns();
    make_room();
    std::size_t work = take_input();
    if (!try_make_way() || (begins_anew_ && !begin_anew())) return work;
    if (!in_burst_) begin_burst();
    if (in_burst_) {
        work += join_at(now_ns);
        while (!can_join() && believe_heads()) work += join_at(now_ns);  // makes all jumps before the end of the burst
        if (finishing && work == 0) ended_ |= waited_for();  // not for blocks without room: joining makes room for them
        work += watch_silence();
        leave_stuck_burst();
        if (is_burst_over(finishing) && end_burst()) ++work;
    }
    end_step(now_ns, work);
    collect_dropped();
    if (finishing && work == 0 && !in_burst_ && try_make_way()) drained_.store(true, std::memory_order_release);
    return work;
}

std::size_t BoardJoin::join_at(Nanoseconds now_ns) noexcept {
    const std::size_t work = join(now_ns);
    if (work > 0) last_joined_ns_ = now_ns;
    return work;
}

void BoardJoin::advance(std::uint32_t board) noexcept {
    believed_ = heads_[board];
    const FineTime head = streams_[board].advance();
    if (head - believed_ <= far_fine_) [[likely]] {  // false for no_fragment
        heads_[board] = head;
        return;
    }
    heads_[board] = no_fragment;
    has_head_ &= ~bit(board);
    if (head != no_fragment) doubted_ |= bit(board);
}

/// Shows the stream's head to join() if it is trusted: it is near, or not later than a head that was trusted before.
/// Other boards may have overtaken a doubted head.
void BoardJoin::show_head(std::uint32_t board) noexcept {
    if ((doubted_ & bit(board)) != 0) streams_[board].drop_before(late_limit(board));
    const FineTime head = streams_[board].head_time();
    const bool is_near = has_believed_ && (head <= believed_ || head - believed_ <= far_fine_);
    const bool was_trusted = heads_[board] != no_fragment && head <= heads_[board];
    const bool is_shown = head != no_fragment && (is_near || was_trusted);
    heads_[board] = is_shown ? head : no_fragment;
    has_head_ = is_shown ? has_head_ | bit(board) : has_head_ & ~bit(board);
    doubted_ = head != no_fragment && !is_shown ? doubted_ | bit(board) : doubted_ & ~bit(board);
}

void BoardJoin::show_doubted_heads() noexcept {
    for (BoardMask left = doubted_; left != 0; left &= left - 1)
        show_head(static_cast<std::uint32_t>(std::countr_zero(left)));
}

/// Called when nothing else can be taken: trusts a doubted head when half of the boards have come as far. Returns true
/// if the doubted heads have changed.
bool BoardJoin::believe_heads() noexcept {
    const BoardMask before = doubted_;
    show_doubted_heads();
    FineTime first = no_fragment;
    for (BoardMask left = doubted_; left != 0; left &= left - 1) {
        const FineTime head = streams_[static_cast<std::uint32_t>(std::countr_zero(left))].head_time();
        if (is_half(n_boards_at(head))) first = std::min(first, head);
    }
    if (first != no_fragment) {
        believed_ = first;
        has_believed_ = true;
        show_doubted_heads();
    }
    return doubted_ != before;
}

/// Number of boards whose head is at this time, nearly at it, or later.
std::uint32_t BoardJoin::n_boards_at(FineTime head) const noexcept {
    return static_cast<std::uint32_t>(std::count_if(streams_.begin(), streams_.end(), [&](const BoardStream& stream) {
        return stream.head_time() != no_fragment &&
               (stream.head_time() >= head || head - stream.head_time() <= far_fine_);
    }));
}

std::size_t BoardJoin::take_input() noexcept {
    std::size_t n_taken = 0;
    receive::Completion completion;
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        const Nanoseconds read_until_ns = source_.read_until_ns(board);  // before blocks are taken
        while (streams_[board].has_room() && source_.try_take(board, completion)) {
            take(board, completion);
            ++n_taken;
        }
        if (streams_[board].has_room()) read_until_ns_[board] = read_until_ns;
    }
    return n_taken;
}

void BoardJoin::take(std::uint32_t board, const receive::Completion& completion) noexcept {
    newest_given_ns_ = std::max(newest_given_ns_, completion.given_ns);
    counters_.add(BuildCounter::blocks_in);
    counters_.add(BuildCounter::fragments_in, completion.n_fragments);
    counters_.add(BuildCounter::hits_in, completion.n_hits);
    board_counters_[board].add(BoardCounter::fragments_in, completion.n_fragments);
    if (completion.reason == receive::CloseReason::disowned) {
        disown(board);
        return source_.give_back(board, completion.buffer);
    }
    if (completion.burst_origin_ns != origins_[board].wall_ns) note_origin(board, completion);
    if (is_gone(completion.burst_id) && !(in_burst_ && completion.burst_id == burst_id_))
        streams_[board].drop(completion);
    else if (in_burst_ && completion.burst_id == burst_id_)
        join_burst(board, completion);
    else
        streams_[board].queue(completion);
}

/// The data received so far under this board's name came from another sender. Drops what is left of it. A burst that
/// fewer than half of the boards would have begun without it does not count as finished, or begins again.
void BoardJoin::disown(std::uint32_t board) noexcept {
    const BoardMask others = ~bit(board);
    streams_[board].disown();
    origins_[board] = {};
    for (GoneBurst& gone : gone_bursts_) {
        gone.boards &= others;
        if (!are_half(gone.boards)) gone.boards = 0;
    }
    if (!in_burst_) return;
    begins_anew_ = begins_anew_ || (are_half(in_burst_now_) && !are_half(in_burst_now_ & others));
    in_burst_now_ &= others;
    gave_data_ &= others;
    ended_ &= others;
    burst_origin_ns_ = choose_burst_origin();
    show_head(board);
}

/// Recomputes the heads of all boards after disown(). Returns false if it must be called again.
bool BoardJoin::begin_anew() noexcept {
    if (!try_begin_anew()) return false;
    begins_anew_ = has_believed_ = false;
    heads_.fill(no_fragment);
    for (std::uint32_t board = 0; board < n_boards_; ++board) show_head(board);
    return true;
}

void BoardJoin::note_origin(std::uint32_t board, const receive::Completion& completion) noexcept {
    if (completion.burst_origin_ns == 0) return;  // the board's source has not received the start of this burst
    origins_[board] = {completion.burst_id, completion.burst_origin_ns};
    if (in_burst_ && completion.burst_id == burst_id_) burst_origin_ns_ = choose_burst_origin();
}

/// The boards' times of the burst's start differ by their clocks, and one may be wrong, so this is the median.
Nanoseconds BoardJoin::choose_burst_origin() const noexcept {
    std::array<Nanoseconds, max_boards> origins_ns;
    std::size_t n = 0;
    for (std::uint32_t board = 0; board < n_boards_; ++board)
        if (origins_[board].wall_ns != 0 && origins_[board].burst_id == burst_id_)
            origins_ns[n++] = origins_[board].wall_ns;
    return middle_of(std::span(origins_ns).first(n));
}

void BoardJoin::join_burst(std::uint32_t board, const receive::Completion& completion) noexcept {
    const bool was_silent = (silent_ & bit(board)) != 0;
    in_burst_now_ |= bit(board);
    if (completion.n_fragments > 0) {
        gave_data_ |= bit(board);
        last_data_ns_[board] = completion.given_ns;
        silent_ &= ~bit(board);
        set_state(board, BoardState::live);
    }
    if (completion.reason >= receive::CloseReason::end_of_burst) {
        ended_ |= bit(board);
        set_state(board, BoardState::ended);
    }
    streams_[board].add(completion, last_ticks_, late_limit(board));
    show_head(board);
    if (!was_silent || (doubted_ & bit(board)) == 0) return;
    silent_ |= bit(board);  // data with a doubted head does not end the silence
    set_state(board, BoardState::silent);
}

/// Makes sure that blocks of bursts with fewer than half of the boards do not block the board's other blocks.
void BoardJoin::make_room() noexcept {
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        Since& since_ns = full_since_ns_[board];
        follow(since_ns, !streams_[board].has_room() && !half_waits());
        if (!since_ns || read_until_ns() - *since_ns < config_.timeout_ns) continue;
        if (!streams_[board].drop_oldest_waiting() && (doubted_ & bit(board)) != 0) {
            streams_[board].drop_ahead();
            show_head(board);
        }
    }
}

void BoardJoin::follow(Since& since_ns, bool is_so) const noexcept {
    if (!is_so)
        since_ns.reset();
    else if (!since_ns)
        since_ns = newest_given_ns_;
}

/// The time until which all data of the board has been taken. A board that is unread only because its blocks wait here
/// (for other boards or another burst) counts as read until now. If it is unread although no block waits, because this
/// builder or a later stage was stopped, its data is still to come.
Nanoseconds BoardJoin::taken_until_ns(std::uint32_t board) const noexcept {
    const bool is_held_here = !streams_[board].is_empty() && !source_.is_wanted(board);
    return is_held_here ? std::max(read_until_ns_[board], clock_.monotonic_ns()) : read_until_ns_[board];
}

/// The earliest such time of all boards with room, since the others cannot be read. If no board has room, nothing can
/// arrive and it is the end of time, unless joining can make room: then no time has passed.
Nanoseconds BoardJoin::read_until_ns() const noexcept {
    constexpr Nanoseconds end_of_time = std::numeric_limits<Nanoseconds>::max();
    Nanoseconds until_ns = end_of_time;
    for (std::uint32_t board = 0; board < n_boards_; ++board)
        if (streams_[board].has_room()) until_ns = std::min(until_ns, taken_until_ns(board));
    return until_ns == end_of_time && in_burst_ && has_head_ != 0 ? newest_given_ns_ : until_ns;
}

bool BoardJoin::is_gone(std::uint32_t burst_id) const noexcept {
    return std::ranges::any_of(gone_bursts_,
                               [&](const GoneBurst& gone) { return gone.boards != 0 && gone.id == burst_id; });
}

/// Chooses the nearest burst after the last one for which half of the boards have blocks waiting, otherwise the burst
/// with most boards. So neither a damaged burst number nor a single board ahead of the others decides. If boards have
/// blocks of the next two bursts, as after a pause of this process, a board that lacks one burst does not make the
/// builder skip it.
bool BoardJoin::choose_burst(std::uint32_t& burst_id) const noexcept {
    std::uint32_t most = 0;
    const auto consider = [&](const receive::Completion& completion, const receive::FragmentColumns&) {
        const std::uint32_t n = n_boards_with(completion.burst_id);
        const bool is_nearer = completion.burst_id - burst_id_ < burst_id - burst_id_;
        const bool are_alike = n == most || (is_half(n) && is_half(most));
        if (are_alike ? !is_nearer : n < most) return;
        most = n;
        burst_id = completion.burst_id;
    };
    for (const BoardStream& stream : streams_) stream.for_each_waiting(consider);
    return is_half(most) || (most > 0 && finishing_.load(std::memory_order_relaxed));  // the caller asks again
}

std::uint32_t BoardJoin::n_boards_with(std::uint32_t burst_id) const noexcept {
    std::uint32_t n = 0;
    for (const BoardStream& stream : streams_) {
        bool found = false;
        stream.for_each_waiting([&](const auto& completion, const auto&) { found |= completion.burst_id == burst_id; });
        n += found ? 1 : 0;
    }
    return n;
}

/// True if half of the boards wait with the same other burst.
bool BoardJoin::half_waits() const noexcept {
    bool found = false;
    for (const BoardStream& stream : streams_) {
        if (!stream.has_waiting()) continue;
        stream.for_each_waiting(
            [&](const auto& completion, const auto&) { found = found || is_half(n_boards_with(completion.burst_id)); });
    }
    return found;
}

/// Ends a burst that half of the boards left long ago, without waiting for a board that still sends for it.
void BoardJoin::leave_stuck_burst() noexcept {
    follow(half_waits_since_ns_, half_waits());
    if (half_waits_since_ns_ && read_until_ns() - *half_waits_since_ns_ >= 2 * config_.timeout_ns) ended_ = all_boards_;
}

/// True if every board has ended the burst or is silent, and all fragments are joined.
bool BoardJoin::is_burst_over(bool finishing) const noexcept {
    return has_head_ == 0 && waited_for() == 0 && (half_has_ended() || finishing || half_waits());
}

/// Chooses the common time origin: of the first timestamps of all blocks, the one with most others near it. A board
/// that is far off must not split the times of the others.
std::uint32_t BoardJoin::choose_origin(std::uint32_t burst_id) const noexcept {
    const auto for_each_first = [&](const auto& visit) {
        for (const BoardStream& stream : streams_)
            stream.for_each_waiting(
                [&](const receive::Completion& completion, const receive::FragmentColumns& columns) {
                    if (completion.burst_id == burst_id && completion.n_fragments > 0)
                        visit(columns.timestamp_ticks[0]);
                });
    };
    std::uint32_t origin = 0, most = 0;
    for_each_first([&](std::uint32_t one) {
        std::uint32_t n_near = 0;
        for_each_first([&](std::uint32_t other) {
            const auto distance = static_cast<std::int32_t>(other - one);
            n_near += static_cast<FineTime>(std::abs(std::int64_t{distance})) * 256 <= far_fine_ ? 1 : 0;
        });
        if (n_near <= most) return;
        most = n_near;
        origin = one;
    });
    return origin;
}

bool BoardJoin::begin_burst() noexcept {
    std::uint32_t burst_id = 0;
    const bool nothing_waits =
        std::all_of(streams_.begin(), streams_.end(), [](const BoardStream& stream) { return stream.is_empty(); });
    if (nothing_waits || !choose_burst(burst_id)) return false;
    last_ticks_ = burst_origin_ticks + choose_origin(burst_id);
    in_burst_ = true;
    burst_id_ = burst_id;
    burst_origin_ns_ = choose_burst_origin();
    begin_joining();
    ended_ = 0;
    // A board without data in the whole last burst is not waited for until it sends data.
    silent_ &= ~gave_data_;
    gave_data_ = in_burst_now_ = 0;
    has_believed_ = false;
    half_ended_since_ns_.reset();
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        if (streams_[board].begin_burst(burst_id, last_ticks_)) ended_ |= bit(board);
        show_head(board);
        const bool has_data = streams_[board].head_time() != no_fragment;
        if (!has_data && (ended_ & bit(board)) == 0) continue;
        in_burst_now_ |= bit(board);
        gave_data_ |= has_data ? bit(board) : 0;
        silent_ &= ~bit(board);
        set_state(board, (ended_ & bit(board)) != 0 ? BoardState::ended : BoardState::live);
    }
    return true;
}

/// Drops fragments with doubted times, since no other board has come as far.
bool BoardJoin::end_burst() noexcept {
    if (!try_end_joining()) return false;
    for (BoardMask left = doubted_; left != 0; left &= left - 1)
        streams_[static_cast<std::uint32_t>(std::countr_zero(left))].drop_ahead();
    doubted_ = 0;
    counters_.add(BuildCounter::bursts_out);
    gone_bursts_[n_gone_bursts_++ % gone_bursts_.size()] = {burst_id_, in_burst_now_};
    in_burst_ = begins_anew_ = false;
    return true;
}

/// Boards are waited for if an event depends on them, or if half of the boards have ended the burst or wait to begin
/// another one. In all other cases there is just no data. A head may be old because its board's clock is ahead: while
/// events go, the other boards are not late. Where more boards are waited for than have a head, the clocks of all those
/// with a head may be ahead.
BoardJoin::Wait BoardJoin::wait() noexcept {
    follow(half_ended_since_ns_, half_has_ended() || half_waits());
    if (has_head_ == 0) return {half_ended_since_ns_, config_.timeout_ns};
    const auto first = std::min_element(heads_.begin(), heads_.begin() + n_boards_) - heads_.begin();
    const Nanoseconds given_ns = streams_[static_cast<std::size_t>(first)].head_given_ns();
    const bool may_be_ahead = std::popcount(has_head_) < std::popcount(waited_for());
    return {std::max(given_ns, last_joined_ns_), (may_be_ahead ? 2 : 1) * config_.timeout_ns};
}

/// Returns how many boards became silent. Without a head, a board is not silent while it sends: half of the boards may
/// have begun anew, which ends their burst, and the others are still in it. If no board has room, nothing can arrive:
/// the boards that are waited for have only blocks of other bursts.
std::size_t BoardJoin::watch_silence() noexcept {
    const auto [since_ns, longest_ns] = wait();
    if (!since_ns) return 0;
    const bool can_come = std::ranges::any_of(streams_, &BoardStream::has_room);
    std::size_t n_silenced = 0;
    for (BoardMask left = waited_for(); left != 0; left &= left - 1) {
        const auto board = static_cast<std::uint32_t>(std::countr_zero(left));
        const Nanoseconds waits_since_ns = has_head_ == 0 ? std::max(*since_ns, last_data_ns_[board]) : *since_ns;
        if (can_come && taken_until_ns(board) - waits_since_ns < longest_ns) continue;
        ++n_silenced;
        silent_ |= bit(board);
        counters_.add(BuildCounter::boards_silenced);
        board_counters_[board].add(BoardCounter::silences);
        set_state(board, BoardState::silent);
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
        const std::uint64_t n_fragments = dropped.ahead.n_fragments + dropped.late.n_fragments +
                                          dropped.duplicates.n_fragments + dropped.disowned.n_fragments;
        if ((n_fragments | dropped.unsorted_blocks) == 0) continue;
        const auto note = [&](const Dropped::Amount& amount, BuildCounter fragments, BuildCounter hits,
                              BoardCounter of_board) {
            counters_.add(fragments, amount.n_fragments);
            counters_.add(hits, amount.n_hits);
            board_counters_[board].add(of_board, amount.n_fragments);
        };
        using enum BuildCounter;
        note(dropped.ahead, fragments_ahead, hits_ahead, BoardCounter::fragments_ahead);
        note(dropped.late, fragments_late, hits_late, BoardCounter::fragments_late);
        note(dropped.duplicates, fragments_duplicate, hits_duplicate, BoardCounter::fragments_duplicate);
        note(dropped.disowned, fragments_disowned, hits_disowned, BoardCounter::fragments_disowned);
        counters_.add(blocks_unsorted, dropped.unsorted_blocks);
        dropped = {};
    }
}

}  // namespace anello::events

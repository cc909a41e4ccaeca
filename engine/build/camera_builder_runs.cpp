// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "build/camera_builder.hpp"

/// Runs, boards and time. Hot path: no allocation, no lock, no log, no throw.
namespace anello::build {
namespace {

constexpr Nanoseconds show_every_ns = 100'000'000, rates_every_ns = 500'000'000;
constexpr Nanoseconds longest_batch_ns = 1'000'000;  // more is time in which the thread did not run

}  // namespace

void CameraBuilder::read_clocks() noexcept {
    now_ns_ = clock_.monotonic_ns();
    wall_ns_ = clock_.wall_ns();
}

std::size_t CameraBuilder::on_time(Nanoseconds read_until_ns) noexcept {
    const Nanoseconds step_ns = std::min(now_ns_ - std::exchange(checked_ns_, now_ns_), longest_batch_ns);
    input_ns_ = std::max(input_ns_, read_until_ns != 0 ? read_until_ns : input_ns_ + step_ns);
    const std::uint64_t n_before = counters_[CameraBuildCounter::events_out];
    while (n_open_ > 0 && input_ns_ - place_of(head_).waits_since_ns >= config_.timeout_ns) expire_head();
    if (n_open_ > 0 && someone_waited_) {
        someone_waited_ = watch_silence(place_of(head_));
        hand_on_ready();
    }
    if (n_ended_ > 0 && is_run_over()) run_over_ = end_run();
    if (now_ns_ - shown_ns_ >= show_every_ns) show();
    if (now_ns_ - rates_shown_ns_ >= rates_every_ns) show_rates();
    return counters_[CameraBuildCounter::events_out] - n_before;
}

bool CameraBuilder::finish() noexcept {
    read_clocks();
    hand_on_all(EventEnd::run_ended);
    show();
    if (in_run_ && !run_over_) run_over_ = end_run();
    return !in_run_ || run_over_;
}

/// The head's time is over: whom it waited for in vain is silent, unless it sent something since.
void CameraBuilder::expire_head() noexcept {
    watch_silence(place_of(head_));
    if (place_of(head_).n_waited_for > 0) hand_on_head(EventEnd::timeout);
    hand_on_ready();
}

/// Whom others wait for a whole timeout is silent. Events that were pushed out while they waited count too: a window
/// can be shorter than the timeout. Says whether any board is still waited for since then.
bool CameraBuilder::watch_silence(Place& place) noexcept {
    bool goes_on = false;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        CameraBoard& board = boards_[i];
        if (place.present->contains(config_.boards.first + i) || !waits_for(board, place.number)) continue;
        const Nanoseconds since_ns = board.waited_since_ns != 0 ? board.waited_since_ns : place.waits_since_ns;
        const bool sent_since = board.last_seen_ns.load(std::memory_order_relaxed) > since_ns;
        if (!sent_since && input_ns_ - since_ns >= config_.timeout_ns)
            set_state(i, BoardState::silent, 0);
        else
            goes_on |= board.waited_since_ns != 0;
    }
    return goes_on;
}

/// An event goes before its time: remembers since when it waited, for whom.
void CameraBuilder::note_waiting(const Place& place) noexcept {
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        CameraBoard& board = boards_[i];
        if (place.present->contains(config_.boards.first + i) || !waits_for(board, place.number)) continue;
        if (board.waited_since_ns != 0) continue;
        if (board.last_seen_ns.load(std::memory_order_relaxed) > place.waits_since_ns) continue;
        board.waited_since_ns = place.waits_since_ns;
        someone_waited_ = true;
    }
}

void CameraBuilder::see(std::uint32_t board_index, std::uint32_t number) noexcept {
    CameraBoard& board = boards_[board_index];
    board.last_seen_ns.store(now_ns_, std::memory_order_relaxed);
    board.waited_since_ns = 0;
    const BoardState state = board.state.load(std::memory_order_relaxed);
    if (state == BoardState::live) return;
    if (state == BoardState::silent || !is_before(number, board.end_event)) set_state(board_index, BoardState::live, 0);
}

std::uint16_t CameraBuilder::count_waited_for(std::uint32_t number) const noexcept {
    if (n_live_ == config_.boards.count) return static_cast<std::uint16_t>(n_live_);
    std::uint32_t n_boards = 0;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) n_boards += waits_for(boards_[i], number) ? 1 : 0;
    return static_cast<std::uint16_t>(n_boards);
}

void CameraBuilder::set_state(std::uint32_t board_index, BoardState state, std::uint32_t end_event) noexcept {
    CameraBoard& board = boards_[board_index];
    const BoardState old_state = board.state.load(std::memory_order_relaxed);
    const std::uint32_t old_end = board.end_event;
    for (Place& place : places_) {
        if (place.room != Room::open || place.present->contains(config_.boards.first + board_index)) continue;
        const int was = waits_for(old_state, old_end, place.number) ? 1 : 0;
        const int is = waits_for(state, end_event, place.number) ? 1 : 0;
        place.n_waited_for = static_cast<std::uint16_t>(place.n_waited_for + is - was);
    }
    n_live_ += (state == BoardState::live ? 1U : 0U) - (old_state == BoardState::live ? 1U : 0U);
    n_ended_ += (state == BoardState::ended ? 1U : 0U) - (old_state == BoardState::ended ? 1U : 0U);
    board.end_event = end_event;
    board.state.store(state, std::memory_order_relaxed);
    Counters<CameraBoardCounter>& counters = board_counters_[board_index];
    counters.set(CameraBoardCounter::state, static_cast<std::uint64_t>(state));
    if (state != BoardState::silent) return;
    counters.add(CameraBoardCounter::silences);
    counters_.add(CameraBuildCounter::boards_silenced);
}

/// A new run begins when two boards send its fragments; before the first run, one is enough.
bool CameraBuilder::begins_run(const Header& header) noexcept {
    if (!is_gone(header.run_id) && is_confirmed_run(header) && begin_run(header.run_id)) {
        base_ = header.event_number;
        return true;
    }
    drop_of_other_run(header);
    return false;
}

bool CameraBuilder::is_confirmed_run(const Header& header) const noexcept {
    if (!in_run_) return true;
    return run_claim_.is_made && run_claim_.value == header.run_id &&
           (run_claim_.board != header.board || n_live_ + n_ended_ <= 1);
}

void CameraBuilder::drop_of_other_run(const Header& header) noexcept {
    drop(header, CameraBuildCounter::fragments_other_run, CameraBoardCounter::other_run);
    if (is_gone(header.run_id)) return;
    run_claim_ = {true, header.board, header.run_id};
    CameraBoardHistory& history = histories_[index_of(header)];
    if (history.claimed_run != header.run_id) history.n_before_run = 0;
    history.claimed_run = header.run_id;
    ++history.n_before_run;
}

bool CameraBuilder::is_gone(std::uint32_t run_id) const noexcept {
    const std::size_t n_known = std::min(n_gone_runs_, gone_runs_.size());
    const auto end = gone_runs_.begin() + static_cast<std::ptrdiff_t>(n_known);
    return std::find(gone_runs_.begin(), end, run_id) != end;
}

/// False when the consumer has yet to take the end of the run before.
bool CameraBuilder::begin_run(std::uint32_t run_id) noexcept {
    if (in_run_ && !run_over_ && !end_run()) return false;
    if (in_run_) gone_runs_[n_gone_runs_++ % gone_runs_.size()] = run_id_;
    release_reserved(base_, config_.window_events);
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) begin_run_of_board(i, run_id);
    run_id_ = run_id;
    in_run_ = is_fresh_ = true;
    run_over_ = has_floor_ = false;
    run_claim_ = place_claim_ = {};
    ending_since_ns_ = 0;
    counters_.add(CameraBuildCounter::runs_begun);
    return true;
}

void CameraBuilder::begin_run_of_board(std::uint32_t board_index, std::uint32_t run_id) noexcept {
    CameraBoard& board = boards_[board_index];
    CameraBoardHistory& history = histories_[board_index];
    if (board.state.load(std::memory_order_relaxed) == BoardState::ended) set_state(board_index, BoardState::live, 0);
    tell_tracker(board_index);
    if (history.sequence.started()) history.sequence.restart();
    if (history.claimed_run == run_id) history.n_not_lost += history.n_before_run;
    history.n_before_run = 0;
    history.has_stray = false;
    history.announced_before += history.announced;
    history.announced = 0;
    board.has_event = board.in_sequence = false;
    board.waited_since_ns = 0;
}

/// Hands on what is open and tells the consumer. False when its ring has no room beside every event's.
bool CameraBuilder::end_run() noexcept {
    if (parts_.capacity() - parts_.size() <= config_.n_events) return false;
    hand_on_all(EventEnd::run_ended);
    show();
    CameraPart end;
    end.run_id = run_id_;
    end.event_number = base_;
    end.end_of_run = true;
    end.closed_ns = wall_ns_;
    return parts_.try_give(end);
}

/// Every board has ended, or is silent, and for a timeout there was nothing more to build.
bool CameraBuilder::is_run_over() noexcept {
    if (run_over_ || n_live_ > 0 || n_open_ > 0) {
        ending_since_ns_ = 0;
        return false;
    }
    if (ending_since_ns_ == 0) ending_since_ns_ = now_ns_;
    return input_ns_ - ending_since_ns_ >= config_.timeout_ns;
}

void CameraBuilder::on_marker(const Header& header, const receive::Datagram& datagram) noexcept {
    counters_.add(CameraBuildCounter::markers);
    if (!is_known_sender(header, datagram.stream) || is_gone(header.run_id)) return;
    const wire::camera::Totals totals = wire::camera::parse_totals(datagram.bytes);
    const bool begins = (header.flags & wire::camera::start_of_run) != 0;
    if (begins && (!in_run_ || header.run_id != run_id_) && begin_run(header.run_id)) base_ = totals.first_event;
    if (!in_run_ || header.run_id != run_id_) return;
    announce(index_of(header), header.sequence, totals);
    if (begins)
        see(index_of(header), totals.first_event);
    else
        set_state(index_of(header), BoardState::ended, totals.next_event);
    if (!begins) receive::SourceWatch::begin_trial(boards_[index_of(header)].source);
    hand_on_ready();
}

void CameraBuilder::announce(std::uint32_t board_index, std::uint32_t next_sequence,
                             const wire::camera::Totals& totals) noexcept {
    tell_tracker(board_index);
    CameraBoardHistory& history = histories_[board_index];
    history.announced = std::max(history.announced, totals.n_fragments);
    history.sequence.announce_next(next_sequence);
    boards_[board_index].next_sequence = history.sequence.next();
}

void CameraBuilder::show() noexcept {
    shown_ns_ = now_ns_;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        tell_tracker(i);
        const CameraBoardHistory& history = histories_[i];
        const std::uint64_t n_passed_over = history.sequence.n_lost() + history.sequence.n_before_joining();
        Counters<CameraBoardCounter>& counters = board_counters_[i];
        counters.set(CameraBoardCounter::placed, boards_[i].n_placed);
        counters.set(CameraBoardCounter::missing, history.n_missing);
        counters.set(CameraBoardCounter::lost, n_passed_over - std::min(n_passed_over, history.n_not_lost));
        counters.set(CameraBoardCounter::announced, history.announced_before + history.announced);
    }
}

void CameraBuilder::show_rates() noexcept {
    const std::uint64_t n_events = counters_[CameraBuildCounter::events_out];
    const double seconds = static_cast<double>(now_ns_ - rates_shown_ns_) * 1e-9;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        CameraBoardHistory& history = histories_[i];
        const std::uint64_t n_placed = boards_[i].n_placed;
        history.rate_hz.store(static_cast<float>(static_cast<double>(n_placed - history.n_placed_shown) / seconds),
                              std::memory_order_relaxed);
        history.is_slow.store((history.n_missing - history.n_missing_shown) * 2 > n_events - events_out_at_rates_,
                              std::memory_order_relaxed);
        history.n_placed_shown = n_placed;
        history.n_missing_shown = history.n_missing;
    }
    rates_shown_ns_ = now_ns_;
    events_out_at_rates_ = n_events;
}

const receive::SequenceLog& CameraBuilder::close_sequence_log(std::uint32_t board_number) noexcept {
    const std::uint32_t index = board_number - config_.boards.first;
    tell_tracker(index);
    histories_[index].sequence.close_log();
    return histories_[index].log;
}

CameraBoardStatus CameraBuilder::status(std::uint32_t board_number) const noexcept {
    const std::uint32_t index = board_number - config_.boards.first;
    const CameraBoard& board = boards_[index];
    return {.state = board.state.load(std::memory_order_relaxed),
            .is_slow = histories_[index].is_slow.load(std::memory_order_relaxed),
            .silences = board_counters_[index][CameraBoardCounter::silences],
            .last_seen_ns = board.last_seen_ns.load(std::memory_order_relaxed),
            .rate_hz = histories_[index].rate_hz.load(std::memory_order_relaxed)};
}

}  // namespace anello::build

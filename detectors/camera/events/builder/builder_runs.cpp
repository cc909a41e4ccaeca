// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "camera/events/builder/builder.hpp"

/// Runs, boards and time. Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {
namespace {

constexpr Nanoseconds show_every_ns = 100'000'000, rates_every_ns = 500'000'000;

}  // namespace

void CameraBuilder::read_clocks() noexcept {
    now_ns_ = clock_.monotonic_ns();
    wall_ns_ = clock_.wall_ns();
    choice_.look(counters_[CameraBuildCounter::bytes], counters_[CameraBuildCounter::datagrams]);
}

std::size_t CameraBuilder::on_time(Nanoseconds read_until_ns) noexcept {
    input_ns_ = std::max(input_ns_, read_until_ns);
    turn_ = votes_->turn();
    const std::uint64_t n_before = counters_[CameraBuildCounter::events_out];
    while (n_open_ > 0 && input_ns_ - place_of(head_).waits_since_ns >= config_.timeout_ns) expire_head();
    if (n_open_ > 0 && someone_waited_) {
        someone_waited_ = watch_silence(place_of(head_));
        hand_on_ready();
    }
    watch_votes();
    if (hold_.total() > 0) settle();
    if (n_ended_ > 0 && is_run_over()) run_over_ = end_run();
    if (now_ns_ - shown_ns_ >= show_every_ns) show();
    if (now_ns_ - rates_shown_ns_ >= rates_every_ns) show_rates();
    tell_time();
    return counters_[CameraBuildCounter::events_out] - n_before;
}

/// Publishes the time for the consumer, after the events that were handed on. It is a time of arrival, so that the
/// event that waits sets its limit by when it may have arrived: after a pause, that was long before it was read.
void CameraBuilder::tell_time() noexcept {
    if (has_ended_) return;
    const bool is_waiting = n_open_ > 0 && place_of(head_).is_due;
    handed_on_until_ns_.store(is_waiting ? std::min(input_ns_, place_of(head_).due_after_ns) : input_ns_,
                              std::memory_order_release);  // pairs with handed_on_until_ns
}

bool CameraBuilder::finish() noexcept {
    read_clocks();
    if (in_run_ && !run_over_) settle();
    for (std::uint32_t i = 0; i < config_.boards.count; ++i)
        while (hold_.size(i) > 0) drop_held(i, 0);
    hand_on_all(EventEnd::run_ended);
    show();
    if (in_run_ && !run_over_) run_over_ = end_run();
    return !in_run_ || run_over_;
}

void CameraBuilder::end_input() noexcept {
    has_ended_ = true;
    handed_on_until_ns_.store(std::numeric_limits<Nanoseconds>::max(), std::memory_order_release);  // as tell_time
}

/// The oldest event timed out: boards that it still waits for become silent unless they have sent since. If more than
/// half of the boards send and have not reached it, the few boards in it are ahead, and it keeps waiting.
void CameraBuilder::expire_head() noexcept {
    Place& place = place_of(head_);
    watch_silence(place);
    if (place.n_waited_for > 0 && place.is_due) hand_on_head(EventEnd::timeout);
    if (n_open_ > 0 && place_of(head_).n_waited_for > 0 && !place_of(head_).is_due)
        place_of(head_).waits_since_ns = std::max(place_of(head_).waits_since_ns, input_ns_);
    hand_on_ready();
}

Nanoseconds CameraBuilder::patience_ns() const noexcept {
    constexpr Nanoseconds n_intervals = 8, at_most_ns = 2'000'000'000;
    return config_.timeout_ns + std::min(n_intervals * mean_interval_ns_, at_most_ns);
}

/// True if the board has sent after the others began to wait for it, or a later event, perhaps in the same read.
bool CameraBuilder::has_sent_since(const CameraBoard& board, Nanoseconds since_ns, const Place& place) noexcept {
    return board.last_seen_ns.load(std::memory_order_relaxed) > since_ns ||
           (board.has_event && is_before(place.number, board.newest_event));
}

/// Marks a board as silent if the others wait for it longer than a timeout. The wait of events that were pushed out
/// counts, too, as a window can be shorter than the timeout. Returns true if such a wait for a board still lasts.
bool CameraBuilder::watch_silence(Place& place) noexcept {
    bool goes_on = false;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        CameraBoard& board = boards_[i];
        if (place.present->contains(config_.boards.first + i) || !waits_for(board, place.number)) continue;
        const Nanoseconds since_ns = board.waited_since_ns != 0 ? board.waited_since_ns : place.waits_since_ns;
        if (!has_sent_since(board, since_ns, place) && input_ns_ - since_ns >= config_.timeout_ns)
            set_state(i, events::BoardState::silent, 0);
        else
            goes_on |= board.waited_since_ns != 0;
    }
    return goes_on;
}

/// Notes for the boards that an event pushed out early has waited for since when it waited.
void CameraBuilder::note_waiting(const Place& place) noexcept {
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        CameraBoard& board = boards_[i];
        if (place.present->contains(config_.boards.first + i) || !waits_for(board, place.number)) continue;
        if (board.waited_since_ns != 0) continue;
        if (has_sent_since(board, place.waits_since_ns, place)) continue;
        board.waited_since_ns = place.waits_since_ns;
        someone_waited_ = true;
    }
}

void CameraBuilder::see(std::uint32_t board_index, std::uint32_t number) noexcept {
    CameraBoard& board = boards_[board_index];
    board.last_seen_ns.store(now_ns_, std::memory_order_relaxed);
    board.waited_since_ns = 0;
    const events::BoardState state = board.state.load(std::memory_order_relaxed);
    if (state == events::BoardState::live) return;
    if (state == events::BoardState::silent || !is_before(number, board.end_event))
        set_state(board_index, events::BoardState::live, 0);
}

std::uint16_t CameraBuilder::count_waited_for(std::uint32_t number) const noexcept {
    if (n_live_ == config_.boards.count) return static_cast<std::uint16_t>(n_live_);
    std::uint32_t n_boards = 0;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) n_boards += waits_for(boards_[i], number) ? 1 : 0;
    return static_cast<std::uint16_t>(n_boards);
}

void CameraBuilder::set_state(std::uint32_t board_index, events::BoardState state, std::uint32_t end_event) noexcept {
    CameraBoard& board = boards_[board_index];
    const events::BoardState old_state = board.state.load(std::memory_order_relaxed);
    const std::uint32_t old_end = board.end_event;
    for (Place& place : places_) {
        if (place.room != Room::open || place.present->contains(config_.boards.first + board_index)) continue;
        const int was = waits_for(old_state, old_end, place.number) ? 1 : 0;
        const int is = waits_for(state, end_event, place.number) ? 1 : 0;
        place.n_waited_for = static_cast<std::uint16_t>(place.n_waited_for + is - was);
    }
    n_live_ += (state == events::BoardState::live ? 1U : 0U) - (old_state == events::BoardState::live ? 1U : 0U);
    n_ended_ += (state == events::BoardState::ended ? 1U : 0U) - (old_state == events::BoardState::ended ? 1U : 0U);
    board.end_event = end_event;
    board.state.store(state, std::memory_order_relaxed);
    Counters<CameraBoardCounter>& counters = board_counters_[board_index];
    counters.set(CameraBoardCounter::state, static_cast<std::uint64_t>(state));
    if (state != events::BoardState::silent) return;
    if (histories_[board_index].vote != BoardVote::elsewhere) say(board_index, BoardVote::silent);
    counters.add(CameraBoardCounter::silences);
    counters_.add(CameraBuildCounter::boards_silenced);
}

bool CameraBuilder::is_gone(std::uint32_t run_id) const noexcept {
    const std::size_t n_known = std::min(n_gone_runs_, gone_runs_.size());
    const auto end = gone_runs_.begin() + static_cast<std::ptrdiff_t>(n_known);
    return std::find(gone_runs_.begin(), end, run_id) != end;
}

/// False if the consumer has yet to take the end of the previous run. A run that most boards never confirmed did not
/// exist: its open events are discarded, unless some have been handed on.
bool CameraBuilder::leave_run() noexcept {
    if (!run_over_ && !is_confirmed_ && !has_floor_)
        discard_open(CameraBuildCounter::fragments_other_run, CameraBoardCounter::other_run);
    else if (!run_over_ && !end_run(!is_confirmed_))
        return false;
    if (is_confirmed_) gone_runs_[n_gone_runs_++ % gone_runs_.size()] = run_id_;
    return true;
}

void CameraBuilder::begin_run(CameraPosition at) noexcept {
    release_reserved(base_, config_.window_events);
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) begin_run_of_board(i, at.run_id);
    run_id_ = at.run_id;
    base_ = at.event_number;
    in_run_ = is_fresh_ = true;
    run_over_ = has_floor_ = is_confirmed_ = false;
    ending_since_ns_ = 0;
    stand(base_);
    counters_.add(CameraBuildCounter::runs_begun);
}

void CameraBuilder::begin_run_of_board(std::uint32_t board_index, std::uint32_t run_id) noexcept {
    CameraBoard& board = boards_[board_index];
    CameraBoardHistory& history = histories_[board_index];
    if (board.state.load(std::memory_order_relaxed) == events::BoardState::ended)
        set_state(board_index, events::BoardState::live, 0);
    if (history.vote == BoardVote::in_step) say(board_index, BoardVote::nothing);
    tell_tracker(board_index);
    if (history.sequence.started()) history.sequence.restart();
    if (history.unused_run == run_id) history.n_not_lost += std::exchange(history.n_unused, 0);
    history.has_stray = false;
    history.announced_before += history.announced;
    history.announced = 0;
    board.has_event = board.in_sequence = false;
    board.waited_since_ns = 0;
}

/// Hands on all open events and the end of the run. False if the ring lacks room for the end in addition to all events.
bool CameraBuilder::end_run(bool is_outvoted) noexcept {
    if (parts_.capacity() - parts_.size() <= config_.n_events) return false;
    hand_on_all(EventEnd::run_ended);
    show();
    CameraPart end;
    end.run_id = run_id_;
    end.event_number = base_;
    end.end_of_run = true;
    end.is_outvoted = is_outvoted;
    end.turn = turn_;
    end.closed_ns = wall_ns_;
    return parts_.try_give(end);
}

/// True if every board has ended and all announced fragments have arrived: what an open event lacks was never sent. Or
/// if each board has ended or is silent, and for a timeout no event was open.
bool CameraBuilder::is_run_over() noexcept {
    if (!run_over_ && n_live_ == 0 && has_all()) return true;
    if (run_over_ || n_live_ > 0 || n_open_ > 0) {
        ending_since_ns_ = 0;
        return false;
    }
    if (ending_since_ns_ == 0) ending_since_ns_ = now_ns_;
    return input_ns_ - ending_since_ns_ >= config_.timeout_ns;
}

/// True if, by the boards' end markers, no fragment of this run is still to come.
bool CameraBuilder::has_all() noexcept {
    if (n_ended_ < config_.boards.count || hold_.total() > 0) return false;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        tell_tracker(i);
        if (!histories_[i].sequence.is_whole()) return false;
    }
    return true;
}

void CameraBuilder::on_marker(const Header& header, const receive::Datagram& datagram) noexcept {
    counters_.add(CameraBuildCounter::markers);
    if (!is_known_sender(header, datagram.stream)) return;
    const bool begins = (header.flags & wire::camera::start_of_run) != 0;
    if (!in_run_ && begins) begin_run({header.run_id, totals_of(header, datagram.bytes).first_event});
    if (in_run_ && header.run_id == run_id_)
        on_marker_of_run(header, datagram.bytes);
    else if (in_run_ && !is_gone(header.run_id))
        on_marker_of_other_run(header, datagram.bytes);
}

void CameraBuilder::on_marker_of_run(const Header& header, std::span<const std::byte> bytes) noexcept {
    const std::uint32_t index = index_of(header);
    const wire::camera::Totals totals = totals_of(header, bytes);
    announce(index, header.sequence, totals);
    if ((header.flags & wire::camera::start_of_run) != 0)
        see(index, totals.first_event);
    else
        set_state(index, events::BoardState::ended, totals.next_event);
    if ((header.flags & wire::camera::start_of_run) == 0) receive::SourceWatch::begin_trial(boards_[index].source);
    if (boards_[index].is_apart) come_in(index);
    hand_on_ready();
}

/// A single board neither ends a run nor begins one: its marker is only a claim to be in that run. An end marker counts
/// only for a run that the board has claimed before.
void CameraBuilder::on_marker_of_other_run(const Header& header, std::span<const std::byte> bytes) noexcept {
    const CameraBoardHistory& history = histories_[index_of(header)];
    const bool begins = (header.flags & wire::camera::start_of_run) != 0;
    const bool goes_on = history.vote == BoardVote::elsewhere && history.claim.run_id == header.run_id;
    if (!begins && !goes_on) return;
    const std::uint32_t number = goes_on ? history.claim.event_number : totals_of(header, bytes).first_event;
    claim(index_of(header), {header.run_id, number});
    hold(header, bytes, false);
    decide({header.run_id, number});
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
            .rate_hz = histories_[index].rate_hz.load(std::memory_order_relaxed),
            .is_outvoted = histories_[index].is_outvoted.load(std::memory_order_relaxed),
            .claim = CameraVotes::unpacked(histories_[index].shown_claim.load(std::memory_order_relaxed))};
}

}  // namespace anello::camera

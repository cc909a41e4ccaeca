// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/placer.hpp"

#include <algorithm>

namespace anello::camera {
namespace {

std::shared_ptr<CameraVotes> votes_of(const CameraBuilderConfig& config) {
    if (config.votes != nullptr) return config.votes;
    return std::make_shared<CameraVotes>(config.shape.n_boards, max_camera_groups, config.window_events);
}

OpenEvents::Config events_config(const CameraBuilderConfig& config) {
    return {.window_events = config.window_events,
            .event_number_bits = config.event_number_bits,
            .buffers = {.n_buffers = config.n_events,
                        .buffer_bytes = config.boards.count * config.shape.slot_bytes(),
                        .kind = config.memory}};
}

}  // namespace

CameraPlacer::CameraPlacer(const CameraBuilderConfig& config, const CameraIntakeChoice& choice,
                           Counters<CameraBuildCounter> counters, Nanoseconds now_ns, CounterPage& page)
    : slot_bytes_(config.shape.slot_bytes()),
      timeout_ns_(config.timeout_ns),
      choice_(choice),
      counters_(counters),
      boards_(config.boards, now_ns, page),
      events_(events_config(config), counters, boards_),
      votes_(votes_of(config), config.group, config.window_events, slot_bytes_, boards_),
      silence_(config.timeout_ns, now_ns, boards_),
      drops_(slot_bytes_, counters, boards_, votes_.hold(), events_) {
    events_.times().input_ns = now_ns;
}

// Hot path from here on: no allocation, no lock, no log, no throw.
/// For a fragment outside of the window, or of a run that is over: moves the window if the boards agree. Outcome
/// placed: it can be placed.
CameraPlacer::Outcome CameraPlacer::bring_into_window(const Header& header) noexcept {
    CameraWindow& window = events_.window();
    const bool is_over = events_.run().is_over;
    const std::uint32_t number = header.event_number, base = window.base(), size = window.size();
    const std::uint32_t index = boards_.index_of(header.board);
    if (!is_over && number - base < 2 * size) {
        if (!votes_.have_reached(number - size + 1, index)) return Outcome::ahead;
        push_out_before(number - size + 1);
        return Outcome::placed;
    }
    if (is_over || (is_before(number, base) && base - number <= size)) {
        if (!is_over && window.try_begin_earlier(number)) return Outcome::placed;
        drops_.drop_late(header);
        if (!is_over) note_seen(index, number);
        return Outcome::dropped;
    }
    return Outcome::elsewhere;
}

bool CameraPlacer::open(Place& place, const Header& header) noexcept {
    CameraWindow& window = events_.window();
    if (!window.try_open(place, header.event_number)) return false;
    place.copy = choice_.copy();
    place.copy_passes_cache = choice_.passes_cache(place.copy);
    place.n_waited_for = boards_.count_waited_for(header.event_number);
    place.quorum = static_cast<std::uint16_t>(std::max(1, (place.n_waited_for + 1) / 2));
    place.is_due = false;
    place.waits_since_ns = events_.times().now_ns + silence_.patience_ns() - timeout_ns_;
    place.first_ns = events_.times().wall_ns;
    place.timestamp_ns = header.timestamp_ns;
    place.n_doubts = 0;
    place.trigger_tag = header.trigger_tag;
    place.n_tag_doubts = 0;
    window.enter(place);
    return true;
}

/// PERF NOTE: not inline with put(), where the compiler has too few registers to keep the board's address during the
/// copy: 3 ns of 130 per fragment of 1.7 kB.
void CameraPlacer::fill(Place& place, const Header& header, std::span<const std::byte> bytes) noexcept {
    const std::uint32_t index = boards_.index_of(header.board);
    CameraBoard& board = boards_[index];
    board.note_seen(events_.times().now_ns);
    if (!board.is_live()) [[unlikely]]
        note_seen(index, header.event_number);
    std::byte* const slot = place.base + index * slot_bytes_;
    if (bytes.data() == slot)
        counters_.add(CameraBuildCounter::landed_in_place);
    else
        place.copy(slot, bytes);
    place.present->add(header.board);
    place.last_ns = events_.times().wall_ns;
    if (header.timestamp_ns != place.timestamp_ns) [[unlikely]]
        place.doubt_time(header.timestamp_ns);
    if (header.trigger_tag != place.trigger_tag) [[unlikely]]
        place.doubt_tag(header.trigger_tag);
    board.note_placed(header.event_number);
    counters_.add(CameraBuildCounter::fragments_placed);
    if (++place.n_present == place.quorum) note_due(place);
    if (--place.n_waited_for == 0 && place.number == events_.window().head()) events_.hand_on_ready();
}

void CameraPlacer::push_out_before(std::uint32_t number) noexcept {
    CameraWindow& window = events_.window();
    while (window.has_open() && is_before(window.head(), number)) {
        silence_.note_waiting(window.head_place());
        events_.hand_on_head(EventEnd::pushed_out);
    }
    if (is_before(window.base(), number)) window.pass_to(number);
    events_.hand_on_ready();
}

/// Half of the boards have reached this event: its time-out and those of earlier events begin now. So a minority that
/// sends ahead of the others makes no board late.
void CameraPlacer::note_due(const Place& place) noexcept {
    const Nanoseconds now_ns = events_.times().now_ns;
    silence_.note_due(now_ns);
    votes_.set_position({events_.run().id, place.number});
    votes_.is_confirmed();  // checked now, while the other groups are near
    events_.window().make_due(place.number, now_ns, events_.times().input_ns);
}

void CameraPlacer::note_seen(std::uint32_t board_index, std::uint32_t number) noexcept {
    CameraBoard& board = boards_[board_index];
    board.note_seen(events_.times().now_ns);
    const BoardWait wait = board.wait();
    if (wait.state == events::BoardState::live) return;
    if (wait.state == events::BoardState::silent || !is_before(number, wait.end_event)) set_wait(board_index, {});
}

void CameraPlacer::set_wait(std::uint32_t board_index, BoardWait wait) noexcept {
    events_.window().change_wait(boards_.number_of(board_index), boards_[board_index].wait(), wait);
    boards_.set_wait(board_index, wait);
    if (wait.state != events::BoardState::silent) return;
    if (!votes_.is_elsewhere(board_index)) votes_.set_vote(board_index, BoardVote::silent);
    counters_.add(CameraBuildCounter::boards_silenced);
}

void CameraPlacer::hand_on_overdue() noexcept {
    CameraWindow& window = events_.window();
    while (window.has_open() && events_.times().input_ns - window.head_place().waits_since_ns >= timeout_ns_)
        expire_head();
    if (!window.has_open() || !silence_.is_waiting()) return;
    silence_.set_waiting(watch_silence(window.head_place()));
    events_.hand_on_ready();
}

/// The oldest event timed out: boards that it still waits for become silent unless they have sent since. If more than
/// half of the boards send and have not reached it, the few boards in it are ahead, and it keeps waiting.
void CameraPlacer::expire_head() noexcept {
    CameraWindow& window = events_.window();
    Place& place = window.head_place();
    watch_silence(place);
    if (place.n_waited_for > 0 && place.is_due) events_.hand_on_head(EventEnd::timeout);
    if (window.has_open() && window.head_place().n_waited_for > 0 && !window.head_place().is_due)
        window.head_place().waits_since_ns = std::max(window.head_place().waits_since_ns, events_.times().input_ns);
    events_.hand_on_ready();
}

/// Marks boards as silent for which the others have waited longer than a time-out. Returns true if a wait that began
/// with an event pushed out still lasts.
bool CameraPlacer::watch_silence(const Place& place) noexcept {
    bool lasts = false;
    for (std::uint32_t i = 0; i < boards_.count(); ++i) {
        const SilenceWatch::Judgement judgement = silence_.judge(i, place, events_.times().input_ns);
        if (judgement == SilenceWatch::Judgement::silent) set_wait(i, {events::BoardState::silent});
        lasts |= judgement == SilenceWatch::Judgement::waits;
    }
    return lasts;
}

void CameraPlacer::discard_open(CameraBuildCounter group_counter, CameraBoardCounter board_counter) noexcept {
    for (Place& place : events_.window().places()) {
        if (place.room != CameraWindow::Room::open) continue;
        counters_.set(CameraBuildCounter::fragments_placed,
                      counters_[CameraBuildCounter::fragments_placed] - place.n_present);
        counters_.add(group_counter, place.n_present);
        for (std::uint32_t i = 0; i < boards_.count(); ++i) {
            if (!place.present->contains(boards_.number_of(i))) continue;
            --boards_[i].n_placed;
            boards_.counters(i).add(board_counter);
            if (group_counter == CameraBuildCounter::fragments_other_run)
                boards_.sequence(i).note_unused(events_.run().id);
        }
        events_.window().discard(place);
    }
}

}  // namespace anello::camera

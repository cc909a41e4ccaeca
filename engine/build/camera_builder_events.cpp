// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "build/camera_builder.hpp"
#include "core/assert.hpp"

/// The window of open events, and the way out of it. Hot path: no allocation, no lock, no log, no throw.
namespace anello::build {

/// A fragment outside of the window: moves the window or counts the fragment as what it is.
bool CameraBuilder::bring_into_window(const Header& header) noexcept {
    const std::uint32_t number = header.event_number;
    if (run_over_ || is_before(number, base_)) {
        if (!run_over_ && can_begin_earlier(number)) {
            release_reserved(base_, config_.window_events);
            base_ = number;
            return true;
        }
        drop(header, CameraBuildCounter::fragments_late, CameraBoardCounter::late);
        if (!run_over_ && base_ - number <= config_.window_events) see(index_of(header), number);
        return false;
    }
    if (is_in_step(header)) {
        push_out_before(number - config_.window_events + 1);
        return true;
    }
    return confirm_jump(header);
}

/// The first fragments to come need not be the first event's.
bool CameraBuilder::can_begin_earlier(std::uint32_t number) const noexcept {
    const std::uint32_t last = n_open_ > 0 ? newest_ : base_;
    return is_fresh_ && last - number < config_.window_events && (!has_floor_ || !is_before(number, floor_));
}

/// Another board is there, or nearly. Of two boards nobody can say which is right.
bool CameraBuilder::is_in_step(const Header& header) const noexcept {
    const std::uint32_t window = config_.window_events;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        const CameraBoard& board = boards_[i];
        const bool has_a_say = i != index_of(header) || n_live_ <= 2;
        if (has_a_say && board.has_event && header.event_number - board.newest_event + window <= 2 * window)
            return true;
    }
    return false;
}

/// One board's word is not enough to move the window so far; unless it is the only one that speaks.
bool CameraBuilder::confirm_jump(const Header& header) noexcept {
    const std::uint32_t number = header.event_number, window = config_.window_events;
    const bool agrees = place_claim_.is_made && number - place_claim_.value + window - 1 <= 2 * (window - 1);
    if (!agrees || (place_claim_.board == header.board && n_live_ > 1)) {
        place_claim_ = {true, header.board, number};
        drop(header, CameraBuildCounter::fragments_ahead, CameraBoardCounter::ahead);
        return false;
    }
    counters_.add(CameraBuildCounter::windows_moved);
    hand_on_all(EventEnd::pushed_out);
    pass_to(is_before(number, place_claim_.value) ? number : place_claim_.value);
    is_fresh_ = true;
    place_claim_ = {};
    return true;
}

void CameraBuilder::push_out_before(std::uint32_t number) noexcept {
    while (n_open_ > 0 && is_before(head_, number)) {
        note_waiting(place_of(head_));
        hand_on_head(EventEnd::pushed_out);
    }
    if (is_before(base_, number)) pass_to(number);
    hand_on_ready();
}

void CameraBuilder::enter(Place& place) noexcept {
    const std::uint32_t number = place.number;
    if (n_open_ == 0 || is_before(newest_, number)) {
        newest_ = number;
    } else {  // others have waited for this one since they began
        std::uint32_t next = number + 1;
        while (place_of(next).room != Room::open) ++next;
        place.waits_since_ns = std::min(place.waits_since_ns, place_of(next).waits_since_ns);
    }
    if (n_open_ == 0 || is_before(number, head_)) head_ = number;
    ++n_open_;
}

void CameraBuilder::hand_on_ready() noexcept {
    while (n_open_ > 0 && place_of(head_).n_waited_for == 0) hand_on_head(EventEnd::timeout);
}

void CameraBuilder::hand_on_all(EventEnd end) noexcept {
    while (n_open_ > 0) hand_on_head(end);
}

/// `end` is why, if the event is not complete.
void CameraBuilder::hand_on_head(EventEnd end) noexcept {
    Place& place = place_of(head_);
    ANELLO_ASSERT(place.room == Room::open && place.number == head_);
    if (place.n_present == config_.boards.count)
        end = EventEnd::complete;
    else
        count_missing(place);
    if (place.copy == copy_past_cache_) finish_copies_past_cache();
    [[maybe_unused]] const bool given = parts_.try_give({.run_id = run_id_,
                                                         .event_number = head_,
                                                         .buffer = place.buffer,
                                                         .end = end,
                                                         .end_of_run = false,
                                                         .n_present = place.n_present,
                                                         .timestamp_ns = place.timestamp_ns,
                                                         .first_ns = place.first_ns,
                                                         .last_ns = place.last_ns,
                                                         .closed_ns = wall_ns_});
    ANELLO_ASSERT(given);  // there is room for every buffer beside the ends of runs
    count_out(end);
    place.room = Room::empty;
    --n_open_;
    is_fresh_ = false;
    has_floor_ = true;
    pass_to(head_ + 1);
    floor_ = base_;
    find_head();
}

void CameraBuilder::count_out(EventEnd end) noexcept {
    constexpr CameraBuildCounter by_end[]{CameraBuildCounter::events_complete, CameraBuildCounter::events_timeout,
                                          CameraBuildCounter::events_pushed_out, CameraBuildCounter::events_run_ended};
    counters_.add(CameraBuildCounter::events_out);
    counters_.add(by_end[static_cast<std::size_t>(end)]);
}

void CameraBuilder::count_missing(const Place& place) noexcept {
    counters_.add(CameraBuildCounter::fragments_missing, config_.boards.count - place.n_present);
    for (std::uint32_t i = 0; i < config_.boards.count; ++i)
        histories_[i].n_missing += place.present->contains(config_.boards.first + i) ? 0 : 1;
}

/// Event numbers before this one can no longer be placed.
void CameraBuilder::pass_to(std::uint32_t number) noexcept {
    release_reserved(base_, std::min(number - base_, config_.window_events));
    base_ = number;
}

void CameraBuilder::release_reserved(std::uint32_t first, std::uint32_t n_numbers) noexcept {
    for (std::uint32_t i = 0; i < n_numbers && n_reserved_ > 0; ++i) {
        Place& place = place_of(first + i);
        if (place.room != Room::reserved) continue;
        place.room = Room::empty;
        spare_[n_spare_++] = place.buffer;
        --n_reserved_;
    }
}

void CameraBuilder::find_head() noexcept {
    if (n_open_ == 0) return;
    head_ = base_;
    while (place_of(head_).room != Room::open) ++head_;
}

bool CameraBuilder::take_buffer(std::uint32_t& buffer) noexcept {
    take_free();
    if (n_spare_ == 0) return false;
    buffer = spare_[--n_spare_];
    return true;
}

void CameraBuilder::take_free() noexcept {
    std::uint32_t buffer = 0;
    while (buffers_.try_take_free(buffer)) spare_[n_spare_++] = buffer;
}

bool CameraBuilder::wants(std::size_t n_datagrams) noexcept {
    if (config_.full_policy != receive::FullPolicy::wait) return true;
    take_free();
    const bool wanting = n_spare_ >= std::min<std::size_t>(n_datagrams, config_.n_events / 2);
    if (was_wanting_ && !wanting) counters_.add(CameraBuildCounter::stalls_no_buffer);
    was_wanting_ = wanting;
    return wanting;
}

}  // namespace anello::build

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "camera/events/builder/builder.hpp"
#include "core/assert.hpp"

/// The window of open events, and how events leave it. Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

/// For a fragment outside of the window: moves the window, or holds or drops the fragment. True: it can be placed.
bool CameraBuilder::bring_into_window(const Header& header, std::span<const std::byte> bytes) noexcept {
    const std::uint32_t number = header.event_number, window = config_.window_events;
    if (!run_over_ && number - base_ < 2 * window) {
        if (have_come_to(number - window + 1, index_of(header))) {
            push_out_before(number - window + 1);
            return true;
        }
        hold(header, bytes, true);
        return false;
    }
    if (run_over_ || (is_before(number, base_) && base_ - number <= window)) {
        if (!run_over_ && can_begin_earlier(number)) {
            release_reserved(base_, window);
            base_ = number;
            return true;
        }
        drop_late(header);
        if (!run_over_) see(index_of(header), number);
        return false;
    }
    speak_from_elsewhere(header, bytes, true);
    return false;
}

/// True if the window may begin at an earlier event: the first fragments to arrive need not be of the first event.
bool CameraBuilder::can_begin_earlier(std::uint32_t number) const noexcept {
    const std::uint32_t last = n_open_ > 0 ? newest_ : base_;
    return is_fresh_ && last - number < config_.window_events && (!has_floor_ || !is_before(number, floor_));
}

/// True if at least half of the group's boards have reached this event, and are not far beyond. The given board has.
bool CameraBuilder::have_come_to(std::uint32_t number, std::uint32_t board_index) const noexcept {
    std::uint32_t n_there = 0, n_voters = 0;
    for (std::uint32_t i = 0; i < config_.boards.count; ++i) {
        if (histories_[i].vote == BoardVote::silent && i != board_index) continue;
        ++n_voters;
        const std::uint32_t n_held = hold_.size(i);
        std::uint32_t newest = boards_[i].newest_event;
        bool has_event = boards_[i].has_event;
        if (n_held > 0 && hold_.at(i, n_held - 1).is_followed) {
            newest = hold_.at(i, n_held - 1).header.event_number;
            has_event = true;
        }
        const bool is_there = has_event && newest - number < 2 * config_.window_events;
        n_there += is_there || i == board_index ? 1 : 0;
    }
    return 2 * n_there >= n_voters;
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
    } else {  // later events have waited for this one since they began
        std::uint32_t next = number + 1;
        while (place_of(next).room != Room::open) ++next;
        place.waits_since_ns = std::min(place.waits_since_ns, place_of(next).waits_since_ns);
        place.is_due = place_of(next).is_due;
        place.due_after_ns = place_of(next).due_after_ns;
    }
    if (n_open_ == 0 || is_before(number, head_)) head_ = number;
    ++n_open_;
}

/// Half of the boards have reached this event: its time-out and those of earlier events begin now. So a minority that
/// sends ahead of the others makes no board late.
void CameraBuilder::come_due(const Place& place) noexcept {
    constexpr Nanoseconds longest_interval_ns = 250'000'000, weight = 8;
    mean_interval_ns_ += (std::min(now_ns_ - due_ns_, longest_interval_ns) - mean_interval_ns_) / weight;
    due_ns_ = now_ns_;
    stand(place.number);
    is_confirmed();  // checked now, while the other groups are near
    for (std::uint32_t number = head_; !is_before(place.number, number); ++number) {
        Place& before = place_of(number);
        if (before.room != Room::open || before.is_due) continue;
        before.is_due = true;
        before.waits_since_ns = now_ns_;
        before.due_after_ns = input_ns_;
    }
}

void CameraBuilder::hand_on_ready() noexcept {
    while (n_open_ > 0 && place_of(head_).n_waited_for == 0) hand_on_head(EventEnd::timeout);
}

void CameraBuilder::hand_on_all(EventEnd end) noexcept {
    while (n_open_ > 0) hand_on_head(end);
}

/// Hands on the oldest open event. `end`: the reason if the event is not complete.
void CameraBuilder::hand_on_head(EventEnd end) noexcept {
    Place& place = place_of(head_);
    ANELLO_ASSERT(place.room == Room::open && place.number == head_);
    if (place.n_present == config_.boards.count)
        end = EventEnd::complete;
    else
        count_missing(place);
    if (choice_.passes_cache(place.copy)) finish_copies_past_cache();
    [[maybe_unused]] const bool given = parts_.try_give({.run_id = run_id_,
                                                         .event_number = head_,
                                                         .buffer = place.buffer,
                                                         .end = end,
                                                         .end_of_run = false,
                                                         .is_outvoted = false,
                                                         .turn = turn_,
                                                         .n_present = place.n_present,
                                                         .trigger_tag = place.trigger_tag,
                                                         .tag_votes = place.n_present - place.n_tag_doubts,
                                                         .timestamp_votes = place.n_present - place.n_doubts,
                                                         .timestamp_ns = place.timestamp_ns,
                                                         .first_ns = place.first_ns,
                                                         .last_ns = place.last_ns,
                                                         .closed_ns = wall_ns_});
    ANELLO_ASSERT(given);  // the ring has room for every buffer and for the ends of runs
    count_out(end);
    gone_events_[head_ % gone_events_.size()] = {head_, true, place.timestamp_ns, *place.present};
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

/// Moves the begin of the window: earlier event numbers can no longer be placed.
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
    n_spare_told_.store(n_spare_, std::memory_order_relaxed);
    return true;
}

void CameraBuilder::take_free() noexcept {
    std::uint32_t buffer = 0;
    while (buffers_.try_take_free(buffer)) spare_[n_spare_++] = buffer;
    n_spare_told_.store(n_spare_, std::memory_order_relaxed);
}

bool CameraBuilder::wants(std::size_t n_datagrams) noexcept {
    if (config_.full_policy != receive::FullPolicy::wait) return true;
    take_free();
    const bool wanting = n_spare_ >= std::min<std::size_t>(n_datagrams, config_.n_events / 2);
    if (was_wanting_ && !wanting) counters_.add(CameraBuildCounter::stalls_no_buffer);
    was_wanting_ = wanting;
    return wanting;
}

}  // namespace anello::camera

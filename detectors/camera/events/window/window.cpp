// SPDX-License-Identifier: Apache-2.0
#include "camera/events/window/window.hpp"

#include <algorithm>

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {
namespace {

constexpr std::uint32_t max_reserved = 16;

}  // namespace

/// n_present - n_doubts is the number of fragments that agree with the time stamp minus those that do not.
void CameraWindow::Place::doubt_time(std::uint64_t other_ns) noexcept {
    std::int32_t votes = n_present - n_doubts;
    vote(timestamp_ns, votes, other_ns, 1, is_same_time);
    n_doubts = n_present + 1 - votes;
}

void CameraWindow::Place::doubt_tag(std::uint8_t other) noexcept {
    std::int32_t votes = n_present - n_tag_doubts;
    vote(trigger_tag, votes, other, 1);
    n_tag_doubts = n_present + 1 - votes;
}

void CameraWindow::begin_at(std::uint32_t number) noexcept {
    release_reserved(base_, size_);
    base_ = number;
    is_fresh_ = true;
}

bool CameraWindow::try_begin_earlier(std::uint32_t number) noexcept {
    const std::uint32_t last = n_open_ > 0 ? newest_ : base_;
    if (!is_fresh_ || last - number >= size_ || (has_floor() && is_before(number, *floor_))) return false;
    release_reserved(base_, size_);
    base_ = number;
    return true;
}

void CameraWindow::pass_to(std::uint32_t number) noexcept {
    release_reserved(base_, std::min(number - base_, size_));
    base_ = number;
}

bool CameraWindow::try_open(Place& place, std::uint32_t number) noexcept {
    if (place.room == Room::reserved)
        --n_reserved_;
    else if (!buffers_.try_take(place.buffer))
        return false;
    place.room = Room::open;
    place.n_present = 0;
    place.number = number;
    place.base = buffers_.bytes(place.buffer).data();
    place.present = &buffers_.present(place.buffer);
    place.present->clear();
    return true;
}

void CameraWindow::enter(Place& place) noexcept {
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

bool CameraWindow::try_reserve(Place& place, std::uint32_t number) noexcept {
    if (n_reserved_ >= max_reserved || !buffers_.try_take(place.buffer)) return false;
    ++n_reserved_;
    place.room = Room::reserved;
    place.number = number;
    place.base = buffers_.bytes(place.buffer).data();
    return true;
}

void CameraWindow::make_due(std::uint32_t number, Nanoseconds now_ns, Nanoseconds input_ns) noexcept {
    for (std::uint32_t at = head_; !is_before(number, at); ++at) {
        Place& before = place_of(at);
        if (before.room != Room::open || before.is_due) continue;
        before.is_due = true;
        before.waits_since_ns = now_ns;
        before.due_after_ns = input_ns;
    }
}

void CameraWindow::change_wait(std::uint32_t board, BoardWait before, BoardWait after) noexcept {
    for (Place& place : places_) {
        if (place.room != Room::open || place.present->contains(board)) continue;
        const int was = before.includes(place.number) ? 1 : 0;
        const int is = after.includes(place.number) ? 1 : 0;
        place.n_waited_for = static_cast<std::uint16_t>(place.n_waited_for + is - was);
    }
}

void CameraWindow::remove_head() noexcept {
    head_place().room = Room::empty;
    --n_open_;
    is_fresh_ = false;
    pass_to(head_ + 1);
    floor_ = base_;
    find_head();
}

void CameraWindow::discard(Place& place) noexcept {
    place.room = Room::empty;
    buffers_.keep_spare(place.buffer);
    --n_open_;
}

void CameraWindow::release_reserved(std::uint32_t first, std::uint32_t n_numbers) noexcept {
    for (std::uint32_t i = 0; i < n_numbers && n_reserved_ > 0; ++i) {
        Place& place = place_of(first + i);
        if (place.room != Room::reserved) continue;
        place.room = Room::empty;
        buffers_.keep_spare(place.buffer);
        --n_reserved_;
    }
}

void CameraWindow::find_head() noexcept {
    if (n_open_ == 0) return;
    head_ = base_;
    while (place_of(head_).room != Room::open) ++head_;
}

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#include "camera/events/window/open_events.hpp"

#include <algorithm>

#include "core/assert.hpp"

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

wire::camera::Totals OpenEvents::totals_of(const wire::camera::Header& header,
                                           std::span<const std::byte> marker) const noexcept {
    wire::camera::Totals totals = wire::camera::parse_totals(marker);
    totals.first_event = whole_number(header.run_id, totals.first_event);
    totals.next_event = whole_number(header.run_id, totals.next_event);
    return totals;
}

void OpenEvents::hand_on_all(EventEnd end) noexcept {
    while (window_.has_open()) hand_on_head(end);
}

void OpenEvents::hand_on_head(EventEnd end) noexcept {
    const CameraWindow::Place& place = window_.head_place();
    ANELLO_ASSERT(place.room == CameraWindow::Room::open && place.number == window_.head());
    if (place.n_present == boards_.count()) {
        end = EventEnd::complete;
    } else {
        counters_.add(CameraBuildCounter::fragments_missing, boards_.count() - place.n_present);
        boards_.count_missing(*place.present);
    }
    if (place.copy_passes_cache) finish_copies_past_cache();
    [[maybe_unused]] const bool given = output_.try_give({.run_id = run_.id,
                                                          .event_number = place.number,
                                                          .buffer = place.buffer,
                                                          .end = end,
                                                          .end_of_run = false,
                                                          .is_outvoted = false,
                                                          .turn = run_.turn,
                                                          .n_present = place.n_present,
                                                          .trigger_tag = place.trigger_tag,
                                                          .tag_votes = place.n_present - place.n_tag_doubts,
                                                          .timestamp_votes = place.n_present - place.n_doubts,
                                                          .timestamp_ns = place.timestamp_ns,
                                                          .first_ns = place.first_ns,
                                                          .last_ns = place.last_ns,
                                                          .closed_ns = times_.wall_ns});
    ANELLO_ASSERT(given);  // the ring has room for every buffer and for the ends of runs
    count_out(end);
    gone_.add(place.number, place.timestamp_ns, *place.present);
    window_.remove_head();
}

void OpenEvents::count_out(EventEnd end) noexcept {
    constexpr CameraBuildCounter by_end[]{CameraBuildCounter::events_complete, CameraBuildCounter::events_timeout,
                                          CameraBuildCounter::events_pushed_out, CameraBuildCounter::events_run_ended};
    counters_.add(CameraBuildCounter::events_out);
    counters_.add(by_end[static_cast<std::size_t>(end)]);
}

bool OpenEvents::end_run(bool is_outvoted) noexcept {
    if (!output_.has_room_for_end()) return false;
    hand_on_all(EventEnd::run_ended);
    boards_.show(times_.now_ns);
    CameraPart end;
    end.run_id = run_.id;
    end.event_number = window_.base();
    end.end_of_run = true;
    end.is_outvoted = is_outvoted;
    end.turn = run_.turn;
    end.closed_ns = times_.wall_ns;
    return output_.try_give(end);
}

/// It is a time of arrival, so that the event that waits sets its limit by when it may have arrived: after a pause,
/// that was long before it was read.
void OpenEvents::publish_time() noexcept {
    const bool is_waiting = window_.has_open() && window_.head_place().is_due;
    output_.publish_time(is_waiting ? std::min(times_.input_ns, window_.head_place().due_after_ns) : times_.input_ns);
}

}  // namespace anello::camera

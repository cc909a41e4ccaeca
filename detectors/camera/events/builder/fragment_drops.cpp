// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/fragment_drops.hpp"

#include <cstring>

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

void FragmentDrops::drop(const Header& header, CameraBuildCounter group_counter,
                         CameraBoardCounter board_counter) noexcept {
    counters_.add(group_counter);
    boards_.counters(boards_.index_of(header.board)).add(board_counter);
}

void FragmentDrops::drop_late(const Header& header) noexcept {
    drop(header, CameraBuildCounter::fragments_late, CameraBoardCounter::late);
    events_.gone().note_late(header.event_number, header.board);
}

void FragmentDrops::drop_unused(const Header& header) noexcept {
    drop(header, CameraBuildCounter::fragments_other_run, CameraBoardCounter::other_run);
    boards_.sequence(boards_.index_of(header.board)).note_unused(header.run_id);
}

void FragmentDrops::drop_repeated(const Header& header, std::span<const std::byte> bytes) noexcept {
    drop(header, CameraBuildCounter::fragments_duplicate, CameraBoardCounter::duplicate);
    if (!arrived_before(header, bytes))
        drop(header, CameraBuildCounter::fragments_conflicting, CameraBoardCounter::conflicting);
}

void FragmentDrops::drop_held(std::uint32_t board_index, std::uint32_t i) noexcept {
    const CameraHold::Datagram& held = hold_.at(board_index, i);
    if (held.is_followed)
        drop(held.header, CameraBuildCounter::fragments_ahead, CameraBoardCounter::ahead);
    else if (!held.header.is_marker())
        drop_unused(held.header);
    hold_.remove(board_index, i);
}

/// True if the same fragment arrived before: compares its bytes, or its time stamp if the event was already handed on.
/// Of an event that was handed on without the board it did not: a board that has restarted repeats numbers of its own,
/// and sends the camera's present event with them.
bool FragmentDrops::arrived_before(const Header& header, std::span<const std::byte> bytes) const noexcept {
    const std::uint32_t index = boards_.index_of(header.board);
    if (hold_.contains(index, bytes)) return true;
    const CameraWindow::Place& place = events_.window().place_of(header.event_number);
    if (place.has(header.event_number, header.board)) {
        if (place.copy_passes_cache) finish_copies_past_cache();
        return std::memcmp(place.base + index * slot_bytes_, bytes.data(), bytes.size()) == 0;
    }
    return events_.gone().contain(header.event_number, header.board, header.timestamp_ns);
}

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#include "camera/events/window/gone_events.hpp"

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

void GoneEvents::note_late(std::uint32_t number, std::uint32_t board) noexcept {
    Gone& gone = events_[number % events_.size()];
    if (gone.is_known && gone.number == number) gone.came.add(board);
}

bool GoneEvents::contain(std::uint32_t number, std::uint32_t board, std::uint64_t timestamp_ns) const noexcept {
    const Gone& gone = events_[number % events_.size()];
    return gone.is_known && gone.number == number && gone.came.contains(board) &&
           is_same_time(gone.timestamp_ns, timestamp_ns);
}

}  // namespace anello::camera

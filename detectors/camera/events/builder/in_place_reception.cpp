// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/in_place_reception.hpp"

#include <algorithm>
#include <cstring>

namespace anello::camera {
namespace {

constexpr std::size_t max_promised = 1024;

}  // namespace

InPlaceReception::InPlaceReception(const CameraBuilderConfig& config, const CameraIntakeChoice& choice,
                                   const GroupBoards& boards, OpenEvents& events)
    : slot_bytes_(config.shape.slot_bytes()),
      has_stream_boards_(!config.stream_boards.empty()),
      choice_(choice),
      boards_(boards),
      events_(events),
      prediction_(config.boards.count, std::max<std::size_t>(1, config.stream_boards.size())) {
    if (config.in_place) scratch_ = std::make_unique<std::byte[]>(max_promised * slot_bytes_);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t InPlaceReception::promise(std::uint16_t stream, std::span<iovec> places) noexcept {
    if (!is_on() || !events_.run().is_open() || !prediction_.is_worth_it()) return 0;
    prediction_.begin(stream_index(stream));
    const std::size_t n_places = std::min(places.size(), max_promised);
    CameraPrediction::Guess guess{};
    const bool fetches = choice_.copy() == copy_ahead;  // PERF NOTE: prefetch before the kernel writes (camera_receive)
    for (std::size_t i = 0; i < n_places; ++i) {
        std::byte* const slot = prediction_.next(guess) ? empty_slot(guess) : nullptr;
        places[i] = {slot != nullptr ? slot : scratch_of(i), slot_bytes_};
        if (fetches && slot != nullptr) fetch_to_write(slot, slot_bytes_);
    }
    return n_places;
}

/// Returns the slot of a predicted fragment; null if the fragment is present, or its event cannot be placed.
std::byte* InPlaceReception::empty_slot(const CameraPrediction::Guess& guess) noexcept {
    CameraWindow& window = events_.window();
    if (!window.contains(guess.event_number)) return nullptr;
    CameraWindow::Place& place = window.place_of(guess.event_number);
    if (place.room == CameraWindow::Room::empty && !window.try_reserve(place, guess.event_number)) return nullptr;
    if (place.room == CameraWindow::Room::open && place.present->contains(boards_.number_of(guess.board_index)))
        return nullptr;
    return place.base + guess.board_index * slot_bytes_;
}

bool InPlaceReception::lies_in_its_slot(const wire::camera::Header& header,
                                        const receive::Datagram& datagram) const noexcept {
    if (header.is_marker() || !boards_.contains(header.board)) return false;
    const CameraWindow::Place& place = events_.window().place_of(header.event_number);
    return place.room != CameraWindow::Room::empty && place.number == header.event_number &&
           datagram.bytes.data() == place.base + boards_.index_of(header.board) * slot_bytes_;
}

bool InPlaceReception::bring_to_safety(receive::Datagram& datagram, std::size_t i) noexcept {
    if (datagram.bytes.data() == scratch_of(i)) return false;
    std::memcpy(scratch_of(i), datagram.bytes.data(), datagram.bytes.size());
    datagram.bytes = {scratch_of(i), datagram.bytes.size()};
    return true;
}

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#include "camera/events/boards/hold.hpp"

#include <algorithm>
#include <cstring>

#include "core/assert.hpp"

namespace anello::camera {

CameraHold::CameraHold(std::uint32_t n_boards, std::uint32_t per_board, std::size_t slot_bytes)
    : per_board_(std::min(per_board, max_per_board)),
      slot_bytes_(slot_bytes),
      queues_(n_boards),
      datagrams_(std::size_t{n_boards} * per_board_),
      bytes_(std::make_unique<std::byte[]>(n_boards * per_board_ * slot_bytes)) {
    for (Queue& queue : queues_)
        for (std::uint32_t i = 0; i < per_board_; ++i) queue.places[i] = static_cast<std::uint8_t>(i);
}

bool CameraHold::contains(std::uint32_t board_index, std::span<const std::byte> bytes) const noexcept {
    for (std::uint32_t i = 0; i < size(board_index); ++i)
        if (std::ranges::equal(at(board_index, i).bytes, bytes)) return true;
    return false;
}

void CameraHold::put(std::uint32_t board_index, const wire::camera::Header& header, std::span<const std::byte> bytes,
                     bool is_followed) noexcept {
    Queue& queue = queues_[board_index];
    ANELLO_ASSERT(queue.n_datagrams < per_board_ && bytes.size() <= slot_bytes_);
    const std::size_t place = std::size_t{board_index} * per_board_ + queue.places[queue.n_datagrams++];
    std::byte* const slot = bytes_.get() + place * slot_bytes_;
    std::memcpy(slot, bytes.data(), bytes.size());
    datagrams_[place] = {header, {slot, bytes.size()}, is_followed};
    ++n_datagrams_;
}

void CameraHold::remove(std::uint32_t board_index, std::uint32_t i) noexcept {
    Queue& queue = queues_[board_index];
    std::rotate(queue.places + i, queue.places + i + 1, queue.places + queue.n_datagrams);
    --queue.n_datagrams;
    --n_datagrams_;
}

}  // namespace anello::camera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "camera/wire/camera.hpp"

namespace anello::camera {

/// Holds datagrams of a run or an event number that most boards have not confirmed yet, a few of each board, in the
/// order of arrival: they can be placed only after more boards have voted. Hot path (all but the constructor): no
/// allocation, no lock, no log, no throw.
class CameraHold {
  public:
    static constexpr std::uint32_t max_per_board = 16;

    struct Datagram {
        wire::camera::Header header;
        std::span<const std::byte> bytes;
        bool is_followed = false;  ///< its sequence number was checked on arrival
    };

    /// Holds at most `per_board` datagrams per board, each of up to `slot_bytes`.
    CameraHold(std::uint32_t n_boards, std::uint32_t per_board, std::size_t slot_bytes);

    std::uint32_t size(std::uint32_t board_index) const noexcept { return queues_[board_index].n_datagrams; }
    std::uint32_t total() const noexcept { return n_datagrams_; }
    bool is_full(std::uint32_t board_index) const noexcept { return size(board_index) == per_board_; }
    /// The i-th held datagram of a board; 0 is the oldest.
    const Datagram& at(std::uint32_t board_index, std::uint32_t i) const noexcept {
        return datagrams_[board_index * per_board_ + queues_[board_index].places[i]];
    }
    /// True if a datagram of this board with these bytes is held.
    bool contains(std::uint32_t board_index, std::span<const std::byte> bytes) const noexcept;
    /// Copies the datagram. The board must not be full.
    void put(std::uint32_t board_index, const wire::camera::Header& header, std::span<const std::byte> bytes,
             bool is_followed) noexcept;
    void mark_followed(std::uint32_t board_index, std::uint32_t i) noexcept {
        datagrams_[board_index * per_board_ + queues_[board_index].places[i]].is_followed = true;
    }
    void remove(std::uint32_t board_index, std::uint32_t i) noexcept;

  private:
    struct Queue {
        std::uint8_t places[max_per_board];  ///< [0, n_datagrams) are in use, oldest first; the rest are free
        std::uint8_t n_datagrams = 0;
    };

    std::uint32_t per_board_;
    std::size_t slot_bytes_;
    std::uint32_t n_datagrams_ = 0;
    std::vector<Queue> queues_;
    std::vector<Datagram> datagrams_;
    std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace anello::camera

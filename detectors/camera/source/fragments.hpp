// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "camera/source/board_counters.hpp"
#include "camera/source/pool.hpp"

namespace anello::camera {

/// Writes the datagrams of a camera's boards: fragments, in place in the pool, and markers.
class CameraFragments {
  public:
    /// The pool must outlive it.
    CameraFragments(const CameraSourceConfig& config, CameraPool& pool);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Writes header, checksum and pattern of a stream's fragment for this trigger into the pool, and returns it.
    std::span<const std::byte> seal(const CameraTrigger& trigger, std::uint32_t stream) noexcept;
    /// `flag` is start_of_run or end_of_run; all triggers before `next_trigger` have been made.
    std::span<const std::byte> write_marker(std::uint8_t flag, const CameraTrigger& next_trigger, std::uint32_t stream,
                                            std::span<std::byte> room) const noexcept;

  private:
    std::uint32_t write_first_cells(const CameraTrigger& trigger, std::uint32_t stream, std::span<std::byte> payload,
                                    std::uint32_t crc_of_waveforms) const noexcept;

    CameraPool& pool_;
    wire::camera::Header header_;  // fields that are the same in all fragments
    const CameraPayload payload_;
    const std::uint32_t first_board_, first_event_;
    const wire::Crc32cJoin join_;
    std::vector<wire::camera::FirstCells> cells_at_start_;  // [stream]
};

}  // namespace anello::camera

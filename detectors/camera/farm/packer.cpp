// SPDX-License-Identifier: Apache-2.0
#include "camera/farm/packer.hpp"

#include <cstring>

#include "camera/wire/camera_group.hpp"

namespace anello::camera {
namespace {

using exchange::PackCounter;

constexpr std::size_t max_per_step = 16;

}  // namespace

std::size_t camera_group_bytes(const CameraShape& shape, std::uint32_t n_boards) noexcept {
    return wire::camera_group::group_bytes(n_boards, shape.slot_bytes());
}

CameraPacker::CameraPacker(const exchange::MfpPackerConfig& config, CameraBuilder& builder, exchange::MfpRing& ring,
                           const Clock& clock, CounterPage& page)
    : builder_(builder),
      counters_(page.add_block<CameraPackCounter>("pack")),
      packer_(config, camera_group_bytes(builder.config().shape, builder.config().boards.count), ring, clock,
              exchange::base_of<PackCounter>(counters_)) {}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraPacker::do_work() noexcept {
    if (!packer_.try_begin()) return 0;
    std::size_t n_done = 0;
    for (; n_done < max_per_step; ++n_done) {
        has_part_ = has_part_ || builder_.output().try_take(part_);
        if (!has_part_ || !try_pass_on(part_)) break;
        has_part_ = false;
    }
    return n_done + (packer_.try_pass_end(has_ended()) ? 1 : 0);
}

/// False: there is no room; the same event will be offered again.
bool CameraPacker::try_pass_on(const CameraPart& part) noexcept {
    if (part.end_of_run) {
        end_run();
        return true;
    }
    if (!camera_run_id_) camera_run_id_ = part.run_id;
    if (part.run_id != camera_run_id_) {
        counters_.add(CameraPackCounter::parts_other_run);
        exchange::base_of<PackCounter>(counters_).add(PackCounter::parts_in);
    } else if (!try_pack(part)) {
        return false;
    }
    builder_.output().give_back(part.buffer);
    return true;
}

void CameraPacker::end_run() noexcept {
    packer_.close();
    counters_.add(CameraPackCounter::runs_ended);
    ended_.store(true, std::memory_order_release);  // pairs with has_ended()
}

bool CameraPacker::try_pack(const CameraPart& part) noexcept {
    const std::size_t n_bytes = camera_group_bytes(builder_.config().shape, builder_.config().boards.count);
    const auto write_part = [&](std::span<std::byte> group) { write(group, part); };
    return packer_.pack(event_of(part), n_bytes, write_part) != PackCounter::waits_for_room;
}

/// The camera counts with 32 bits, the exchange with 64: returns the possible number nearest to the next one, or at the
/// start the camera's own number.
std::uint64_t CameraPacker::event_of(const CameraPart& part) const noexcept {
    const std::uint64_t next = packer_.next_event();
    if (next == 0) return part.event_number;
    const auto ahead = static_cast<std::int32_t>(part.event_number - static_cast<std::uint32_t>(next));
    return next + static_cast<std::uint64_t>(std::int64_t{ahead});
}

void CameraPacker::write(std::span<std::byte> group, const CameraPart& part) const noexcept {
    const BoardRange boards = builder_.config().boards;
    const std::size_t slot_bytes = builder_.config().shape.slot_bytes();
    wire::camera_group::write_header(group, {.first_board = static_cast<std::uint16_t>(boards.first),
                                             .n_boards = static_cast<std::uint16_t>(boards.count),
                                             .n_present = part.n_present,
                                             .slot_bytes = static_cast<std::uint32_t>(slot_bytes),
                                             .run_id = part.run_id,
                                             .event_number = part.event_number,
                                             .timestamp_ns = part.timestamp_ns,
                                             .first_ns = part.first_ns,
                                             .closed_ns = part.closed_ns});
    const BoardSet& present = builder_.output().present(part.buffer);
    for (std::uint32_t i = 0; i < boards.count; ++i)
        if (present.contains(boards.first + i)) wire::camera_group::set_present(group, i);
    std::memcpy(group.data() + wire::camera_group::slots_offset(boards.count),
                builder_.output().event(part.buffer).data(), boards.count * slot_bytes);
}

}  // namespace anello::camera

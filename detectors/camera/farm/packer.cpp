// SPDX-License-Identifier: Apache-2.0
#include "camera/farm/packer.hpp"

#include <cstring>
#include <limits>

#include "camera/wire/camera_group.hpp"

namespace anello::camera {
namespace {

constexpr std::size_t max_per_step = 16;

}  // namespace

std::size_t camera_group_bytes(const CameraShape& shape, std::uint32_t n_boards) noexcept {
    return wire::camera_group::group_bytes(n_boards, shape.slot_bytes());
}

CameraPacker::CameraPacker(const exchange::MfpPackerConfig& config, CameraBuilder& builder, exchange::MfpRing& ring,
                           const Clock& clock, CounterPage& page)
    : builder_(builder),
      counters_(page.add_block<CameraPackCounter>("pack")),
      packer_(config, camera_group_bytes(builder.config().shape, builder.config().boards.count), ring, clock) {}

Nanoseconds CameraPacker::next_due_ns() const noexcept {
    return std::numeric_limits<Nanoseconds>::max();
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraPacker::do_work() noexcept {
    const bool discarding = discarding_.load(std::memory_order_relaxed);
    if (!packer_.try_begin() && !discarding) return 0;
    std::size_t n_done = 0;
    while (n_done < max_per_step) {
        if (!has_part_ && !builder_.try_take(part_)) break;
        has_part_ = !part_.end_of_run;
        if (part_.end_of_run) {
            packer_.close();
            counters_.add(CameraPackCounter::runs_ended);
            ended_.store(true, std::memory_order_release);  // pairs with has_ended()
        } else if (discarding) {
            drop(part_, CameraPackCounter::parts_left);
        } else if (!try_take(part_)) {
            counters_.add(CameraPackCounter::waits_for_room);
            break;
        }
        has_part_ = false;
        ++n_done;
    }
    n_done += packer_.try_pass_end(has_ended()) ? 1 : 0;
    counters_.set(CameraPackCounter::mfps, packer_.n_mfps());
    counters_.set(CameraPackCounter::bytes, packer_.n_bytes());
    return n_done;
}

/// The camera counts with 32 bits, the exchange with 64: the number nearest to what comes next, and at the start
/// itself.
std::uint64_t CameraPacker::event_of(const CameraPart& part) const noexcept {
    const std::uint64_t next = packer_.next_event();
    if (next == 0) return part.event_number;
    const auto ahead = static_cast<std::int32_t>(part.event_number - static_cast<std::uint32_t>(next));
    return next + static_cast<std::uint64_t>(std::int64_t{ahead});
}

/// False: no room; the same event will be offered again.
bool CameraPacker::try_take(const CameraPart& part) noexcept {
    using Place = exchange::MfpPacker::Place;
    if (!has_run_) camera_run_id_ = part.run_id;
    has_run_ = true;
    if (part.run_id != camera_run_id_) {
        drop(part, CameraPackCounter::parts_other_run);
        return true;
    }
    const Place place = packer_.try_open(event_of(part));
    if (place == Place::ready) add(part);
    if (place == Place::before_start) drop(part, CameraPackCounter::parts_before_start);
    if (place == Place::after_end) drop(part, CameraPackCounter::parts_after_end);
    return place != Place::no_room;
}

void CameraPacker::drop(const CameraPart& part, CameraPackCounter cause) noexcept {
    counters_.add(CameraPackCounter::parts_in);
    counters_.add(cause);
    builder_.give_back(part.buffer);
}

void CameraPacker::add(const CameraPart& part) noexcept {
    const BoardRange boards = builder_.config().boards;
    const std::size_t slot_bytes = builder_.config().shape.slot_bytes();
    const std::size_t length_bytes = wire::camera_group::group_bytes(boards.count, slot_bytes);
    const std::span<std::byte> group = packer_.add(static_cast<std::uint32_t>(length_bytes));
    wire::camera_group::write_header(group, {.first_board = static_cast<std::uint16_t>(boards.first),
                                             .n_boards = static_cast<std::uint16_t>(boards.count),
                                             .n_present = part.n_present,
                                             .slot_bytes = static_cast<std::uint32_t>(slot_bytes),
                                             .run_id = part.run_id,
                                             .event_number = part.event_number,
                                             .timestamp_ns = part.timestamp_ns,
                                             .first_ns = part.first_ns,
                                             .closed_ns = part.closed_ns});
    const BoardSet& present = builder_.present(part.buffer);
    for (std::uint32_t i = 0; i < boards.count; ++i)
        if (present.contains(boards.first + i)) wire::camera_group::set_present(group, i);
    std::memcpy(group.data() + wire::camera_group::slots_offset(boards.count), builder_.event(part.buffer).data(),
                boards.count * slot_bytes);
    packer_.end_fragment();
    counters_.add(CameraPackCounter::parts_in);
    counters_.add(CameraPackCounter::parts_packed);
    builder_.give_back(part.buffer);
}

}  // namespace anello::camera

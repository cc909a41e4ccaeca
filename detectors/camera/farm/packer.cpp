// SPDX-License-Identifier: Apache-2.0
#include "camera/farm/packer.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "core/errors.hpp"
#include "wire/camera_group.hpp"

namespace anello::camera {
namespace {

constexpr std::size_t max_per_step = 16;

}  // namespace

std::size_t CameraPackerConfig::max_mfp_bytes(const CameraShape& shape, std::uint32_t n_boards) const noexcept {
    const std::size_t group_bytes = wire::camera_group::group_bytes(n_boards, shape.slot_bytes());
    return wire::mfp::max_packet_bytes(packing, group_bytes, alignment_log2, wire::mfp::long_fragments);
}

CameraPacker::CameraPacker(const CameraPackerConfig& config, CameraBuilder& builder, exchange::MfpRing& ring,
                           const Clock& clock, CounterPage& page)
    : config_(config),
      builder_(builder),
      ring_(ring),
      clock_(clock),
      counters_(page.add_block<CameraPackCounter>("pack")) {
    const std::size_t needed = config.max_mfp_bytes(builder.config().shape, builder.config().boards.count);
    if (config.packing < 1 || config.packing > 0xffff || ring.buffer_bytes() < needed)
        throw ConfigError("exchange.packing", "must be 1 to 65535, and leave a multi-fragment packet within its buffer",
                          fmt::format("{}: {} bytes", config.packing, needed), "An event is large: 16 is enough.");
}

Nanoseconds CameraPacker::next_due_ns() const noexcept {
    return std::numeric_limits<Nanoseconds>::max();
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraPacker::do_work() noexcept {
    const bool discarding = discarding_.load(std::memory_order_relaxed);
    if (first_mep_ == exchange::MfpRing::never && !try_begin() && !discarding) return 0;
    std::size_t n_done = 0;
    while (n_done < max_per_step) {
        if (!has_part_ && !builder_.try_take(part_)) break;
        has_part_ = !part_.end_of_run;
        if (part_.end_of_run) {
            end();
        } else if (discarding) {
            drop(part_, CameraPackCounter::parts_left);
        } else if (!try_take(part_)) {
            counters_.add(CameraPackCounter::waits_for_room);
            break;
        }
        has_part_ = false;
        ++n_done;
    }
    return n_done + (try_pass_end() ? 1 : 0);
}

bool CameraPacker::try_begin() noexcept {
    first_mep_ = ring_.first_mep();
    if (first_mep_ == exchange::MfpRing::never) return false;
    next_event_ = first_mep_ * config_.packing;
    ring_.pass(first_mep_);
    return true;
}

/// The camera counts with 32 bits, the exchange with 64: the number nearest to what comes next, and at the start
/// itself.
std::uint64_t CameraPacker::event_of(const CameraPart& part) const noexcept {
    if (next_event_ == 0) return part.event_number;
    const auto ahead = static_cast<std::int32_t>(part.event_number - static_cast<std::uint32_t>(next_event_));
    return next_event_ + static_cast<std::uint64_t>(std::int64_t{ahead});
}

/// False: no room; the same event will be offered again.
bool CameraPacker::try_take(const CameraPart& part) noexcept {
    if (!has_run_) camera_run_id_ = part.run_id;
    has_run_ = true;
    const std::uint64_t event = event_of(part), mep = event / config_.packing;
    const bool is_before_start = event - next_event_ > std::numeric_limits<std::uint64_t>::max() / 2;
    if (part.run_id != camera_run_id_) {
        drop(part, CameraPackCounter::parts_other_run);
    } else if (is_before_start) {
        drop(part, CameraPackCounter::parts_before_start);
    } else if (mep >= ring_.end_mep()) {
        next_event_ = event + 1;
        drop(part, CameraPackCounter::parts_after_end);
    } else {
        if (writer_ && mep != mep_) close();
        if (!writer_ && !try_open(mep)) return false;
        add(part, static_cast<std::uint32_t>(event % config_.packing));
        next_event_ = event + 1;
        if (n_written_ == config_.packing) close();
    }
    return true;
}

void CameraPacker::drop(const CameraPart& part, CameraPackCounter cause) noexcept {
    counters_.add(CameraPackCounter::parts_in);
    counters_.add(cause);
    builder_.give_back(part.buffer);
}

bool CameraPacker::try_open(std::uint64_t mep) noexcept {
    if (!ring_.try_take_free(buffer_)) return false;
    mep_ = mep;
    n_written_ = 0;
    writer_.emplace(ring_.bytes(buffer_), wire::mfp::Header{.flags = wire::mfp::long_fragments,
                                                            .alignment_log2 = CameraPackerConfig::alignment_log2,
                                                            .source_id = config_.source_id,
                                                            .n_fragments = static_cast<std::uint16_t>(config_.packing),
                                                            .run_id = config_.run_id,
                                                            .first_event = mep * config_.packing});
    return true;
}

void CameraPacker::add(const CameraPart& part, std::uint32_t place) noexcept {
    for (; n_written_ < place; ++n_written_) writer_->add(0);
    const BoardRange boards = builder_.config().boards;
    const std::size_t slot_bytes = builder_.config().shape.slot_bytes();
    const std::size_t length_bytes = wire::camera_group::group_bytes(boards.count, slot_bytes);
    const std::span<std::byte> group = writer_->add(static_cast<std::uint32_t>(length_bytes));
    ++n_written_;
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
    counters_.add(CameraPackCounter::parts_in);
    counters_.add(CameraPackCounter::parts_packed);
    builder_.give_back(part.buffer);
}

void CameraPacker::close() noexcept {
    if (!writer_) return;
    for (; n_written_ < config_.packing; ++n_written_) writer_->add(0);
    const std::size_t length_bytes = writer_->finish(clock_.wall_ns());
    writer_.reset();
    counters_.add(CameraPackCounter::mfps);
    counters_.add(CameraPackCounter::bytes, length_bytes);
    ring_.give({.mep = mep_, .buffer = buffer_, .length_bytes = static_cast<std::uint32_t>(length_bytes)});
}

void CameraPacker::end() noexcept {
    close();
    counters_.add(CameraPackCounter::runs_ended);
    ended_.store(true, std::memory_order_release);  // pairs with has_ended()
}

/// Once the end is known, and nothing before it is to come: readout units may say that there is no more.
bool CameraPacker::try_pass_end() noexcept {
    const std::uint64_t end_mep = ring_.end_mep();
    if (passed_end_ || end_mep == exchange::MfpRing::never || first_mep_ == exchange::MfpRing::never) return false;
    if (!has_ended() && next_event_ < end_mep * config_.packing) return false;
    close();
    ring_.pass(end_mep);
    passed_end_ = true;
    return true;
}

}  // namespace anello::camera

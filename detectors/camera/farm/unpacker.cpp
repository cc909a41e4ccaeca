// SPDX-License-Identifier: Apache-2.0
#include "camera/farm/unpacker.hpp"

#include <algorithm>
#include <string>

#include "camera/events/builder/slot.hpp"
#include "core/assert.hpp"
#include "core/errors.hpp"

namespace anello::camera {

CameraUnpacker::CameraUnpacker(const CameraUnpackerConfig& config, CounterPage& page)
    : config_(config),
      boards_per_group_(boards_of_group(config.shape.n_boards, std::max(1U, config.n_readouts), 0).count),
      counters_(page.add_block<CameraUnpackCounter>("unpack")),
      meps_(config.n_slots),
      done_(config.n_slots) {
    if (config.n_readouts == 0 || config.n_readouts > max_camera_groups ||
        boards_of_group(config.shape.n_boards, config.n_readouts, config.n_readouts - 1).count == 0)
        throw ConfigError("exchange.roles",
                          "must have 1 to " + std::to_string(max_camera_groups) +
                              " readout units where they read out a camera, and boards for each",
                          std::to_string(config.n_readouts), "Leave ru out of the roles of some nodes.");
    for (std::uint32_t i = 0; i < config.n_readouts; ++i)
        readouts_[i].boards = boards_of_group(config.shape.n_boards, config.n_readouts, i);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
bool CameraUnpacker::try_take(CameraEventView& view) noexcept {
    while (has_mep_ || try_open()) {
        while (next_place_ < mep_.n_events) {
            ++next_place_;
            if (join(view)) return true;
        }
        if (n_lent_ > 0) return false;  // its events are still looked at
        close_if_done();
    }
    return false;
}

void CameraUnpacker::release(const CameraEventView&) noexcept {
    ANELLO_ASSERT(has_mep_ && n_lent_ > 0);
    --n_lent_;
    close_if_done();
}

bool CameraUnpacker::try_open() noexcept {
    if (!meps_.try_take(mep_)) return false;
    counters_.add(CameraUnpackCounter::meps);
    counters_.add(CameraUnpackCounter::places, mep_.n_events);
    has_mep_ = true;
    next_place_ = 0;
    for (std::uint32_t i = 0; i < config_.n_readouts; ++i) {
        Readout& readout = readouts_[i];
        readout.fragments.reset();
        // The builder has checked header and tables; this makes the view of them.
        if (!mep_.mfps[i].empty() && wire::mfp::parse(mep_.mfps[i], readout.packet) == wire::Verdict::ok)
            readout.fragments.emplace(readout.packet);
    }
    return true;
}

void CameraUnpacker::close_if_done() noexcept {
    if (next_place_ < mep_.n_events || n_lent_ > 0) return;
    has_mep_ = false;
    done_.try_give(mep_.slot);  // has room for all slots
}

/// False where nothing of the next event is there.
bool CameraUnpacker::join(CameraEventView& view) noexcept {
    view = {};
    view.event_number = static_cast<std::uint32_t>(mep_.first_event + next_place_ - 1);
    view.shape = config_.shape;
    view.boards_per_group = boards_per_group_;
    tag_votes_ = 0;
    for (std::uint32_t i = 0; i < config_.n_readouts; ++i) {
        std::span<const std::byte> fragment;
        if (readouts_[i].fragments && readouts_[i].fragments->next(fragment) && !fragment.empty())
            add(i, fragment, view);
    }
    if (view.n_present == 0) {
        counters_.add(CameraUnpackCounter::places_empty);
        return false;
    }
    ++n_lent_;
    counters_.add(CameraUnpackCounter::events_out);
    counters_.add(view.is_complete() ? CameraUnpackCounter::events_complete : CameraUnpackCounter::events_incomplete);
    counters_.add(CameraUnpackCounter::fragments, view.n_present);
    return true;
}

void CameraUnpacker::add(std::uint32_t readout, std::span<const std::byte> fragment, CameraEventView& view) noexcept {
    counters_.add(CameraUnpackCounter::parts_in);
    wire::camera_group::GroupView group;
    if (wire::camera_group::parse(fragment, group) != wire::Verdict::ok)
        return counters_.add(CameraUnpackCounter::parts_malformed);
    const wire::camera_group::Header& header = group.header;
    if (!is_of(header, readouts_[readout].boards, view)) return counters_.add(CameraUnpackCounter::parts_of_other);
    counters_.add(CameraUnpackCounter::parts_joined);
    const bool is_first = view.closed_ns == 0;
    if (is_first) {
        view.run_id = header.run_id;
        view.timestamp_ns = header.timestamp_ns;
    }
    view.base[readout] = group.slots();
    const Nanoseconds first_ns = std::max(header.first_ns, Nanoseconds{0});  // any: durations must not overflow
    view.first_ns = is_first ? first_ns : std::min(view.first_ns, first_ns);
    view.closed_ns = std::max(view.closed_ns, mep_.built_ns);
    add_boards(group, view);
}

bool CameraUnpacker::is_of(const wire::camera_group::Header& group, const BoardRange& boards,
                           const CameraEventView& view) const noexcept {
    const bool is_run = view.closed_ns == 0 || group.run_id == view.run_id;
    return is_run && group.event_number == view.event_number && group.first_board == boards.first &&
           group.n_boards == boards.count && group.slot_bytes == config_.shape.slot_bytes();
}

/// Those whose slot holds what they say: everything behind here reads slots by their headers.
void CameraUnpacker::add_boards(const wire::camera_group::GroupView& group, CameraEventView& view) noexcept {
    for (std::uint32_t i = 0; i < group.header.n_boards; ++i) {
        if (!group.has(i)) continue;
        const std::span<const std::byte> slot = group.slot(i);
        const std::size_t length = wire::camera::header_bytes + waveforms_in(slot.data()).payload_bytes;
        wire::camera::Header header;
        const bool is_right = length <= wire::camera::header_bytes + config_.shape.max_payload_bytes &&
                              wire::camera::parse(slot.first(length), header) == wire::Verdict::ok &&
                              !header.is_marker() && header.board == group.header.first_board + i &&
                              header.event_number == view.event_number && header.run_id == view.run_id;
        if (!is_right) {
            counters_.add(CameraUnpackCounter::fragments_malformed);
            continue;
        }
        vote(view.trigger_tag, tag_votes_, header.trigger_tag, 1);
        view.present.add(header.board);
        ++view.n_present;
    }
}

}  // namespace anello::camera

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
      done_(config.n_slots),
      reader_(config.n_readouts, exchange::base_of<exchange::UnpackCounter>(counters_)) {
    if (config.n_readouts == 0 || config.n_readouts > max_camera_groups ||
        boards_of_group(config.shape.n_boards, config.n_readouts, config.n_readouts - 1).count == 0)
        throw ConfigError("exchange.roles",
                          "must have 1 to " + std::to_string(max_camera_groups) +
                              " readout units where they read out a camera, and boards for each",
                          std::to_string(config.n_readouts), "Leave ru out of the roles of some nodes.");
    for (std::uint32_t i = 0; i < config.n_readouts; ++i)
        boards_of_[i] = boards_of_group(config.shape.n_boards, config.n_readouts, i);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
bool CameraUnpacker::try_take(CameraEventView& view) noexcept {
    while (has_mep_ || try_open()) {
        while (!reader_.is_at_end())
            if (join(view)) return true;
        if (n_lent_ > 0) return false;  // the consumer still uses its events
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
    exchange::MepView mep;
    if (!meps_.try_take(mep)) return false;
    reader_.open(mep);
    has_mep_ = true;
    return true;
}

void CameraUnpacker::close_if_done() noexcept {
    if (!reader_.is_at_end() || n_lent_ > 0) return;
    has_mep_ = false;
    done_.try_give(reader_.mep().slot);  // has room for all slots
}

/// Joins the next event; false if it has no fragment.
bool CameraUnpacker::join(CameraEventView& view) noexcept {
    view = {};
    view.event_number = static_cast<std::uint32_t>(reader_.next_event());
    view.shape = config_.shape;
    view.boards_per_group = boards_per_group_;
    tag_votes_ = 0;
    reader_.read([&](std::uint32_t readout, std::span<const std::byte> part) { return add(readout, part, view); });
    if (view.n_present == 0) {
        reader_.count_empty_place();
        return false;
    }
    ++n_lent_;
    counters_.add(CameraUnpackCounter::events_out);
    counters_.add(view.is_complete() ? CameraUnpackCounter::events_complete : CameraUnpackCounter::events_incomplete);
    counters_.add(CameraUnpackCounter::fragments, view.n_present);
    return true;
}

exchange::UnpackCounter CameraUnpacker::add(std::uint32_t readout, std::span<const std::byte> part,
                                            CameraEventView& view) noexcept {
    wire::camera_group::GroupView group;
    if (wire::camera_group::parse(part, group) != wire::Verdict::ok) return exchange::UnpackCounter::parts_malformed;
    const wire::camera_group::Header& header = group.header;
    if (!is_of(header, boards_of_[readout], view)) return exchange::UnpackCounter::parts_of_other;
    const bool is_first = view.closed_ns == 0;
    if (is_first) {
        view.run_id = header.run_id;
        view.timestamp_ns = header.timestamp_ns;
    }
    view.base[readout] = group.slots();
    const Nanoseconds first_ns = std::max(header.first_ns, Nanoseconds{0});  // durations must not overflow
    view.first_ns = is_first ? first_ns : std::min(view.first_ns, first_ns);
    view.closed_ns = std::max(view.closed_ns, reader_.mep().built_ns);
    add_boards(group, view);
    return exchange::UnpackCounter::parts_joined;
}

bool CameraUnpacker::is_of(const wire::camera_group::Header& group, const BoardRange& boards,
                           const CameraEventView& view) const noexcept {
    const bool is_run = view.closed_ns == 0 || group.run_id == view.run_id;
    return is_run && group.event_number == view.event_number && group.first_board == boards.first &&
           group.n_boards == boards.count && group.slot_bytes == config_.shape.slot_bytes();
}

/// Adds the boards whose slot holds a valid fragment: later stages read slots by their headers.
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

// SPDX-License-Identifier: Apache-2.0
#include "km3net/farm/unpacker.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/errors.hpp"

namespace anello::km3net {
namespace {

using exchange::UnpackCounter;

/// Makes the frame that the trigger would get from the slice builder. Hits are already in the order of sending.
Frame frame_of(const wire::daq::Frame& from, std::uint32_t run, bool has_trailers) noexcept {
    Frame frame{};
    frame.n_received = from.status.n_received;
    frame.n_numbers = static_cast<std::uint16_t>(from.status.largest_sequence + 1);
    frame.n_hits = static_cast<std::uint32_t>(from.hits.size() / clb::hit_bytes);
    frame.n_pieces = frame.n_hits > 0 ? 1 : 0;
    frame.pieces[0] = {0, 0, frame.n_hits};
    frame.status1 = from.status.board[0];
    frame.status2 = from.status.board[1];
    frame.has_trailer = has_trailers && (frame.status2 & trailer_bit) != 0;
    frame.run = run;
    return frame;
}

std::uint64_t number_of(const wire::daq::Origin& origin) noexcept {
    return std::uint64_t{origin.utc_s} * slices_per_second + origin.ticks / ticks_per_slice;
}

}  // namespace

DomRange doms_of(std::uint32_t readout, std::uint32_t n_readouts, std::uint32_t n_doms) noexcept {
    const auto begin = [&](std::uint64_t unit) {  // first DOM with dom * n_readouts / n_doms == unit
        return static_cast<std::uint32_t>((unit * n_doms + n_readouts - 1) / n_readouts);
    };
    return {begin(readout), begin(readout + 1)};
}

SliceUnpacker::SliceUnpacker(const SliceUnpackerConfig& config, std::span<const Dom> doms, SliceStore& slices,
                             const Clock& clock, CounterPage& page)
    : config_(config),
      slices_(slices),
      clock_(clock),
      index_(doms),
      n_doms_(static_cast<std::uint32_t>(doms.size())),
      counters_(page.add_block<SliceUnpackCounter>("slice_unpack")),
      reader_(config.n_readouts, exchange::base_of<UnpackCounter>(counters_)),
      dom_seen_in_(doms.size()) {
    if (config.n_readouts == 0 || config.n_readouts > doms.size())
        throw ConfigError("exchange.roles", "must have a readout unit, and a DOM for each of them",
                          std::to_string(config.n_readouts), "Leave ru out of the roles of some nodes.");
}

// Hot path from here on: no allocation, no lock, no log, no throw.
bool SliceUnpacker::try_complete() noexcept {
    while (!reader_.is_at_end()) {
        if (!has_buffer_ && !(has_buffer_ = slices_.buffers().try_take_free(buffer_))) {
            counters_.add(SliceUnpackCounter::waits_for_room);
            return false;
        }
        if (!join(config_.first_slice + reader_.next_event())) {
            reader_.count_empty_place();
            continue;  // the next slice takes the same buffer
        }
        count(slices_.slice(buffer_));
        slices_.pass_on(buffer_);
        has_buffer_ = false;
    }
    return true;
}

/// Returns false when no part of the slice was usable.
bool SliceUnpacker::join(std::uint64_t number) noexcept {
    Slice& slice = slices_.slice(buffer_);
    bool has_any = false;
    return reader_.read([&](std::uint32_t readout, std::span<const std::byte> fragment) {
        SlicePart part;
        const UnpackCounter outcome = judge(fragment, readout, number, part);
        if (outcome != UnpackCounter::parts_joined) return outcome;
        if (!std::exchange(has_any, true)) clear(slice, number);
        add(part, slice);
        return outcome;
    });
}

UnpackCounter SliceUnpacker::judge(std::span<const std::byte> fragment, std::uint32_t readout, std::uint64_t number,
                                   SlicePart& part) noexcept {
    if (parse_part(fragment, part) != wire::Verdict::ok) return UnpackCounter::parts_malformed;
    const wire::daq::Origin& origin = part.message.header.origin;
    const bool is_its = number_of(origin) == number && origin.ticks % ticks_per_slice == 0 &&
                        origin.run == config_.run &&
                        are_doms_right(part.message, doms_of(readout, config_.n_readouts, n_doms_));
    return is_its ? UnpackCounter::parts_joined : UnpackCounter::parts_of_other;
}

/// True when all DOMs of the message belong to this readout unit and each occurs once.
bool SliceUnpacker::are_doms_right(const wire::daq::MessageView& message, const DomRange& range) noexcept {
    ++n_parts_;
    wire::daq::FrameReader frames(message);
    for (wire::daq::Frame frame; frames.next(frame);) {
        const auto dom = index_.find(frame.status.dom_id);
        if (!dom || !range.contains(*dom) || std::exchange(dom_seen_in_[*dom], n_parts_) == n_parts_) return false;
        if (!is_frame_right(frame)) return false;
    }
    return true;
}

/// True when the frame has a datagram or a trailer, and not more hits than a slice has room for.
bool SliceUnpacker::is_frame_right(const wire::daq::Frame& frame) const noexcept {
    const bool has_trailer = slices_.config().has_trailers && (frame.status.board[1] & trailer_bit) != 0;
    return (frame.status.n_received > 0 || has_trailer) &&
           frame.hits.size() <= std::size_t{slices_.config().max_hits} * clb::hit_bytes;
}

void SliceUnpacker::clear(Slice& slice, std::uint64_t number) const noexcept {
    slice.number = number;
    slice.run = config_.run;
    slice.opened_wall_ns = std::numeric_limits<Nanoseconds>::max();
    slice.last_wall_ns = 0;
    slice.built_wall_ns = clock_.wall_ns();
    for (Frame& frame : slice.frames) frame.clear();
}

void SliceUnpacker::add(const SlicePart& part, Slice& slice) noexcept {
    slice.opened_wall_ns = std::min(slice.opened_wall_ns, part.opened_wall_ns);
    slice.last_wall_ns = std::max(slice.last_wall_ns, part.last_wall_ns);
    wire::daq::FrameReader frames(part.message);
    for (wire::daq::Frame frame; frames.next(frame);) {
        const std::uint32_t dom = *index_.find(frame.status.dom_id);
        slice.frames[dom] = frame_of(frame, config_.run, slices_.config().has_trailers);
        if (!frame.hits.empty()) std::memcpy(slices_.hits(buffer_, dom).data(), frame.hits.data(), frame.hits.size());
    }
}

void SliceUnpacker::count(const Slice& slice) noexcept {
    bool is_complete = true;
    for (const Frame& frame : slice.frames) {
        const bool is_whole = frame.is_complete(slices_.config().has_trailers);
        counters_.add(frame.is_absent() ? SliceUnpackCounter::frames_absent
                      : is_whole        ? SliceUnpackCounter::frames_complete
                                        : SliceUnpackCounter::frames_incomplete);
        counters_.add(SliceUnpackCounter::hits, frame.n_hits);
        is_complete = is_complete && is_whole && !frame.is_absent();
    }
    counters_.add(SliceUnpackCounter::slices_out);
    counters_.add(is_complete ? SliceUnpackCounter::slices_complete : SliceUnpackCounter::slices_incomplete);
}

}  // namespace anello::km3net

// SPDX-License-Identifier: Apache-2.0
#include "km3net/messages/daq_messages.hpp"

#include <algorithm>
#include <cmath>

namespace anello::km3net::daq {
namespace {

constexpr double least_hz = 2e3, most_hz = 2e6;

/// Writes the status as the experiment's data queue does: number of datagrams received, largest sequence number (0xffff
/// when there is none), and the board's own status words.
void put_status(Writer& writer, const Dom& dom, const Frame& frame) noexcept {
    writer.put(dom.id);
    writer.put(frame.n_received | (frame.n_numbers - 1) << 16);
    writer.put(frame.status1);
    writer.put(frame.status2);
    writer.put(std::uint64_t{0});  // boards do not use status 3 and 4
}

}  // namespace

std::byte* Writer::take(std::size_t n_bytes) noexcept {
    is_full_ = is_full_ || memory_.size() - n_ < n_bytes;
    if (is_full_) return nullptr;
    n_ += n_bytes;
    return memory_.data() + n_ - n_bytes;
}

Writer::Place Writer::begin(Type type, const Origin& origin) noexcept {
    const Place place = leave();
    put(static_cast<std::uint32_t>(type));
    if (type != Type::frame) put(wire::daq::version_of(type));
    put(origin.detector);
    put(origin.run);
    put(origin.frame_index);
    put(static_cast<std::uint32_t>(origin.slice / slices_per_second));
    put(static_cast<std::uint32_t>(origin.slice % slices_per_second) * ticks_per_slice);
    return place;
}

bool Writer::end_message(Place place) noexcept {
    end(place);
    if (!is_full_) return true;
    n_ = place.at;
    is_full_ = false;
    return false;
}

void Writer::put(const clb::Hit& hit) noexcept {
    put(hit.channel);
    put(wire::swap_bytes(hit.time_ns));
    put(hit.time_over_threshold_ns);
}

clb::Hit raw_hit(PackedHit hit, const Dom& dom) noexcept {
    return {static_cast<std::uint8_t>(hit.channel()),
            static_cast<std::uint32_t>(std::lrint(hit.time_ns() - dom.t0_ns[hit.channel()])),
            static_cast<std::uint8_t>(hit.tot_ns())};
}

std::uint8_t rate_byte(double rate_hz) noexcept {
    if (rate_hz <= least_hz) return 0;
    return static_cast<std::uint8_t>(
        std::lround(255 * std::log(std::min(rate_hz, most_hz) / least_hz) / std::log(most_hz / least_hz)));
}

std::size_t l0_slice_bytes(const Slice& slice) noexcept {
    std::size_t n_bytes = wire::daq::header_bytes + sizeof(std::uint32_t);
    for (const Frame& frame : slice.frames)
        if (!frame.is_absent()) n_bytes += wire::daq::frame_header_bytes + frame.n_hits * clb::hit_bytes;
    return n_bytes;
}

bool write_l0_slice(Writer& writer, const Origin& origin, std::span<const Dom> doms, SliceStore& slices,
                    std::uint32_t buffer) noexcept {
    const Writer::Place message = writer.begin(Type::l0_slice, origin), n_frames = writer.leave();
    std::uint32_t n = 0;
    for (std::uint32_t dom = 0; dom < doms.size(); ++dom) {
        const Frame& frame = slices.slice(buffer).frames[dom];
        if (frame.is_absent()) continue;
        ++n;
        const Writer::Place place = writer.begin(Type::frame, origin);
        put_status(writer, doms[dom], frame);
        writer.put(frame.n_hits);
        for (const Frame::Piece& piece : std::span(frame.pieces).first(frame.n_pieces))
            writer.put(
                slices.hits(buffer, dom).subspan(piece.first_hit * clb::hit_bytes, piece.n_hits * clb::hit_bytes));
        writer.end(place);
    }
    writer.set(n_frames, n);
    return writer.end_message(message);
}

bool write_summary(Writer& writer, const Origin& origin, const LookedAt& slice) noexcept {
    const Writer::Place message = writer.begin(Type::summary, origin), n_frames = writer.leave();
    std::uint32_t n = 0;
    for (std::size_t dom = 0; dom < slice.doms.size(); ++dom) {
        if (slice.frames[dom].is_absent()) continue;
        ++n;
        put_status(writer, slice.doms[dom], slice.frames[dom]);
        for (const std::uint32_t n_hits : slice.hits[dom].n_by_pmt())
            writer.put(slice.is_used[dom] ? rate_byte(n_hits * 1e9 / slice_ns) : std::uint8_t{0});
    }
    writer.set(n_frames, n);
    return writer.end_message(message);
}

bool write_l1_slice(Writer& writer, const Origin& origin, const LookedAt& slice, std::span<const L1Hit> l1) noexcept {
    const Writer::Place message = writer.begin(Type::l1_slice, origin), n_frames = writer.leave();
    std::uint32_t n = 0;
    for (std::uint32_t dom = 0; dom < slice.doms.size(); ++dom) {
        if (!slice.is_used[dom]) continue;
        ++n;
        const Writer::Place frame = writer.begin(Type::frame, origin);
        put_status(writer, slice.doms[dom], slice.frames[dom]);
        const Writer::Place n_hits = writer.leave();
        std::size_t n_here = 0;
        for (; !l1.empty() && l1.front().dom == dom; l1 = l1.subspan(1)) {
            for (const PackedHit hit : l1.front().hits) writer.put(raw_hit(hit, slice.doms[dom]));
            n_here += l1.front().hits.size();
        }
        writer.set(n_hits, static_cast<std::uint32_t>(n_here));
        writer.end(frame);
    }
    writer.set(n_frames, n);
    return writer.end_message(message);
}

bool write_event(Writer& writer, const Origin& origin, const LookedAt& slice, const Event& event) noexcept {
    const Writer::Place message = writer.begin(Type::event, origin);
    writer.put(event.number);
    writer.put(std::uint64_t{event.span.mask});
    writer.put(event.span.n_overlays);
    const Writer::Place n_triggered = writer.leave();
    std::size_t n = 0;
    for (const std::uint32_t member : event.members) {
        const L1Hit& one = event.l1[member];
        for (const PackedHit hit : one.hits) {
            writer.put(slice.doms[one.dom].id);
            writer.put(raw_hit(hit, slice.doms[one.dom]));
            writer.put(std::uint64_t{event.span.mask});
        }
        n += one.hits.size();
    }
    writer.set(n_triggered, static_cast<std::uint32_t>(n));
    const Writer::Place n_snapshot = writer.leave();
    n = 0;
    for (std::size_t dom = 0; dom < slice.doms.size(); ++dom) {
        if (!slice.is_used[dom]) continue;
        const auto hits = slice.hits[dom].between(event.span.begin - event.around, event.span.end + event.around);
        for (const PackedHit hit : hits) {
            writer.put(slice.doms[dom].id);
            writer.put(raw_hit(hit, slice.doms[dom]));
        }
        n += hits.size();
    }
    writer.set(n_snapshot, static_cast<std::uint32_t>(n));
    return writer.end_message(message);
}

}  // namespace anello::km3net::daq

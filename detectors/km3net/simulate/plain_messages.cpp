// SPDX-License-Identifier: Apache-2.0
#include "km3net/simulate/plain_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>

namespace anello::km3net {
namespace {

constexpr std::uint32_t summary_type = 2001, l1_type = 1003, event_type = 10001, frame_type = 101;

/// The rate in one byte: logarithmic from 2 kHz to 2 MHz.
std::uint8_t byte_of_rate(std::uint32_t n_hits) {
    const double rate_hz = std::clamp(n_hits * 10.0, 2e3, 2e6);
    return static_cast<std::uint8_t>(std::lround(255 * std::log(rate_hz / 2e3) / std::log(1e3)));
}

}  // namespace

/// Numbers with the least byte first; lengths are written when they are known.
class PlainMessages::Writer {
  public:
    template <std::unsigned_integral Number>
    void put(Number number) {
        for (std::size_t i = 0; i < sizeof number; ++i)
            bytes.push_back(static_cast<std::byte>(std::uint64_t{number} >> (8 * i)));
    }
    void put(const PlainHit& hit) {
        put(static_cast<std::uint8_t>(hit.channel));
        for (int shift = 24; shift >= 0; shift -= 8) put(static_cast<std::uint8_t>(hit.raw_ns >> shift));
        put(static_cast<std::uint8_t>(hit.tot_ns));
    }
    void set(std::size_t at, std::size_t value) {
        for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
    }
    /// Leaves room for a number that is known later; returns its place.
    std::size_t leave() {
        put(std::uint32_t{0});
        return bytes.size() - 4;
    }
    void end(std::size_t begin) { set(begin, bytes.size() - begin); }

    std::vector<std::byte> bytes{};
};

void PlainMessages::add(const PlainDecision& decision) {
    if (first_slice_ == 0 || decision.slice.run != run_) {
        first_slice_ = decision.slice.number;
        run_ = decision.slice.run;
        n_events_ = 0;
    }
    Writer writer;
    put_summary(writer, decision);
    put_l1(writer, decision);
    for (const PlainEvent& event : decision.events) put_event(writer, decision, event, n_events_++);
    slices_.push_back({std::move(writer.bytes), 2 + decision.events.size()});
}

void PlainMessages::put_origin(Writer& writer, const PlainSlice& slice) const {
    writer.put(detector_);
    writer.put(slice.run);
    writer.put(static_cast<std::uint32_t>(slice.number - first_slice_));
    writer.put(static_cast<std::uint32_t>(slice.number / 10));
    writer.put(static_cast<std::uint32_t>(slice.number % 10 * 6'250'000));
}

void PlainMessages::put_status(Writer& writer, const PlainDecision& decision, std::uint32_t dom) const {
    const PlainFrame& frame = decision.slice.frames[dom];
    writer.put(trigger_.doms()[dom].id);
    writer.put(static_cast<std::uint16_t>(frame.hits.size()));
    writer.put(static_cast<std::uint16_t>(frame.n_numbers() - 1));
    writer.put(frame.status1);
    writer.put(frame.status2);
    writer.put(std::uint64_t{0});
}

void PlainMessages::put_summary(Writer& writer, const PlainDecision& decision) const {
    const std::size_t begin = writer.leave();
    writer.put(summary_type);
    writer.put(std::uint16_t{6});
    put_origin(writer, decision.slice);
    const std::size_t n_frames_at = writer.leave();
    std::size_t n_frames = 0;
    for (std::uint32_t dom = 0; dom < decision.doms.size(); ++dom) {
        if (decision.slice.frames[dom].is_absent()) continue;
        ++n_frames;
        put_status(writer, decision, dom);
        for (const std::uint32_t n : decision.doms[dom].n_by_pmt)
            writer.put(decision.doms[dom].is_used ? byte_of_rate(n) : std::uint8_t{0});
    }
    writer.set(n_frames_at, n_frames);
    writer.end(begin);
}

void PlainMessages::put_l1(Writer& writer, const PlainDecision& decision) const {
    const std::size_t begin = writer.leave();
    writer.put(l1_type);
    writer.put(std::uint16_t{1});
    put_origin(writer, decision.slice);
    const std::size_t n_frames_at = writer.leave();
    std::size_t n_frames = 0;
    for (std::uint32_t dom = 0; dom < decision.doms.size(); ++dom) {
        if (!decision.doms[dom].is_used) continue;
        ++n_frames;
        const std::size_t frame = writer.leave();
        writer.put(frame_type);
        put_origin(writer, decision.slice);
        put_status(writer, decision, dom);
        const std::size_t n_hits_at = writer.leave(), hits_at = writer.bytes.size();
        for (const PlainL1& one : decision.l1)
            if (one.dom == dom)
                for (const PlainHit& hit : one.hits) writer.put(hit);
        writer.set(n_hits_at, (writer.bytes.size() - hits_at) / clb::hit_bytes);
        writer.end(frame);
    }
    writer.set(n_frames_at, n_frames);
    writer.end(begin);
}

void PlainMessages::put_event(Writer& writer, const PlainDecision& decision, const PlainEvent& event,
                              std::uint64_t number) const {
    const std::size_t begin = writer.leave();
    writer.put(event_type);
    writer.put(std::uint16_t{4});
    put_origin(writer, decision.slice);
    writer.put(number);
    writer.put(std::uint64_t{event.mask});
    writer.put(event.n_overlays);
    std::size_t n_at = writer.leave(), n_hits = 0;
    for (const std::size_t member : event.members)
        for (const PlainHit& hit : decision.l1_by_time[member].hits) {
            writer.put(trigger_.doms()[decision.l1_by_time[member].dom].id);
            writer.put(hit);
            writer.put(std::uint64_t{event.mask});
            ++n_hits;
        }
    writer.set(n_at, n_hits);
    n_at = writer.leave();
    n_hits = 0;
    const auto around = trigger_.around(decision, event);
    for (std::uint32_t dom = 0; dom < around.size(); ++dom)
        for (const PlainHit& hit : around[dom]) {
            writer.put(trigger_.doms()[dom].id);
            writer.put(hit);
            ++n_hits;
        }
    writer.set(n_at, n_hits);
    writer.end(begin);
}

void PlainMessages::judge(const std::vector<std::byte>& content, std::uint64_t n_written, std::uint64_t n_lost,
                          bool was_full, std::vector<std::string>& wrong) const {
    std::span<const std::byte> left = content;
    std::uint64_t n_found = 0, n_missing = 0;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
        const OfSlice& slice = slices_[i];
        const bool is_there =
            left.size() >= slice.bytes.size() && std::ranges::equal(left.first(slice.bytes.size()), slice.bytes);
        if (is_there) left = left.subspan(slice.bytes.size());
        (is_there ? n_found : n_missing) += slice.n_messages;
    }
    if (!left.empty()) wrong.push_back(fmt::format("{} bytes of the files are of no message of a slice", left.size()));
    if (n_found != n_written || n_missing != n_lost)
        wrong.push_back(fmt::format("{} messages are in the files and {} are missing; written are {}, and lost {}",
                                    n_found, n_missing, n_written, n_lost));
    if (n_lost > 0 && !was_full) wrong.emplace_back("messages were lost on a disk with room");
}

}  // namespace anello::km3net

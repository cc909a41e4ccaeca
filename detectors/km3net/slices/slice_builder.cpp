// SPDX-License-Identifier: Apache-2.0
#include "km3net/slices/slice_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/errors.hpp"

namespace anello::km3net {
namespace {

constexpr std::size_t most_ranges_of_all = 4'194'304;  // about 100 MB, allocated only as far as needed
constexpr std::uint64_t first_slice = 1;               // 0 means "no slice"

const SliceBuilderConfig& validated(const SliceBuilderConfig& config) {
    if (config.window_slices < 2 || config.max_lag_slices + 1 >= config.window_slices)
        throw ConfigError("slices.window", "must be above slices.max_lag + 1", std::to_string(config.window_slices),
                          "8 with a lag of 3 leave room for DOMs that are ahead.");
    if (config.store.n_slices <= config.window_slices + 1)
        throw ConfigError("slices.n_slices", "must be above slices.window + 1", std::to_string(config.store.n_slices),
                          "Slices that the builder has passed on need memory, too.");
    return config;
}

std::uint64_t slice_of(const clb::Header& header) noexcept {
    return std::uint64_t{header.utc_s & 0x7fffffffU} * slices_per_second + header.utc_16ns / ticks_per_slice;
}

}  // namespace

SliceBuilder::SliceBuilder(const SliceBuilderConfig& config, std::span<const Dom> doms, const Clock& clock,
                           CounterPage& page)
    : config_(validated(config)),
      clock_(clock),
      index_(doms),
      store_(config.store, static_cast<std::uint32_t>(doms.size())),
      counters_(page.add_block<SliceCounter>("build")),
      verdicts_(page.add_block<wire::Verdict>("build.verdict")),
      window_(config.window_slices, none),
      newest_(doms.size()),
      run_(config.run == 0 ? std::nullopt : std::optional(config.run)),
      now_ns_(clock.monotonic_ns()),
      read_until_ns_(now_ns_) {
    votes_.reserve(doms.size());
    for (std::uint32_t i = 0; i < doms.size(); ++i) {
        doms_.emplace_back(page.add_block<DomCounter>(fmt::format("build.board{}", config.first_dom + i)),
                           most_ranges_of_all / doms.size() / 4);
        if (i < config.sources.size()) doms_[i].source.expect(config.sources[i]);
    }
}

// Hot path from here on: no allocation, no lock, no log, no throw.
void SliceBuilder::place(const receive::Datagram& datagram) noexcept {
    clb::PacketView packet;
    wire::Verdict verdict =
        datagram.cut ? wire::Verdict::wrong_length : clb::parse(datagram.bytes, {}, packet, config_.header_bytes());
    if (verdict == wire::Verdict::clock_not_valid) verdict = wire::Verdict::ok;  // counted below, as no_clock
    const auto dom = verdict == wire::Verdict::ok ? index_.find(packet.header.dom_id) : std::nullopt;
    if (verdict == wire::Verdict::ok && !dom) verdict = wire::Verdict::unknown_source;
    verdicts_.add(verdict);
    if (!dom) return;
    DomState& state = doms_[*dom];
    state.counters.add(DomCounter::datagrams);
    if (reject_stranger(*dom, datagram.source)) return state.counters.add(DomCounter::strangers);
    const std::uint64_t slice = slice_of(packet.header);
    const auto rejected = reject(packet.header, slice);
    const DomCounter outcome = rejected ? *rejected : place_in_window(*dom, packet, slice);
    state.counters.add(outcome);
    if (outcome == DomCounter::used) {
        state.counters.add(DomCounter::hits, packet.n_hits());
        Nanoseconds& last_ns = store_.slice(position_of(slice)).last_wall_ns;
        last_ns = std::max(last_ns, datagram.kernel_ns > 0 ? datagram.kernel_ns : clock_.wall_ns());
    } else {
        state.log.add_unused(slice, packet.header.udp_sequence, outcome);
    }
    if (!settled_) settle();
}

bool SliceBuilder::reject_stranger(std::uint32_t dom, receive::SourceAddress source) noexcept {
    using Heard = receive::BoardSource::Heard;
    const Heard heard = doms_[dom].source.hear(source, now_ns_, read_until_ns_);
    if (heard == Heard::moved || heard == Heard::taken_over) doms_[dom].counters.add(DomCounter::source_changes);
    if (heard == Heard::taken_over)
        for (const std::uint32_t buffer : window_)
            if (buffer != none) revoke(buffer, dom, DomCounter::strangers);
    return heard == Heard::stranger;
}

/// Finds the reasons to reject a datagram that do not depend on the window.
std::optional<DomCounter> SliceBuilder::reject(const clb::Header& header, std::uint64_t slice) const noexcept {
    if ((header.dom_status & clb::clock_is_valid) == 0) return DomCounter::no_clock;
    if (config_.run != 0 && header.run_number != config_.run) return DomCounter::other_run;
    if (header.utc_16ns % ticks_per_slice != 0 || header.utc_16ns >= slices_per_second * ticks_per_slice ||
        slice < first_slice)
        return DomCounter::wrong_time;
    if (header.udp_sequence >= max_datagrams) return DomCounter::beyond;
    return std::nullopt;
}

DomCounter SliceBuilder::place_in_window(std::uint32_t dom, const clb::PacketView& packet,
                                         std::uint64_t slice) noexcept {
    doms_[dom].run = packet.header.run_number;
    hear(dom, slice);
    if (settled_ && slice < base_) return DomCounter::late;
    if (settled_ && slice >= base_ + window_.size()) return DomCounter::ahead;
    std::uint32_t& position = position_of(slice);
    if (position == none && !open(slice)) return DomCounter::no_buffer;
    Slice& open_slice = store_.slice(position);
    if (open_slice.number != slice) return DomCounter::ahead;  // not settled yet: another slice has its place
    Frame& frame = open_slice.frames[dom];
    if (frame.is_absent()) frame.run = packet.header.run_number;
    if (frame.run != packet.header.run_number) return DomCounter::other_run;
    return add(position, dom, packet);
}

void SliceBuilder::hear(std::uint32_t dom, std::uint64_t slice) noexcept {
    DomState& state = doms_[dom];
    if (state.newest == slice) return;
    state.newest = slice;
    if (state.silent.load(std::memory_order_relaxed)) {
        state.silent.store(false, std::memory_order_relaxed);
        state.counters.set(DomCounter::silent, 0);
    }
    sort_newest();
    half_ = newest_[n_half() - 1];
    if (settled_) follow_half();
}

void SliceBuilder::sort_newest() noexcept {
    for (std::uint32_t i = 0; i < newest_.size(); ++i) newest_[i] = doms_[i].newest;
    std::ranges::sort(newest_, std::greater<>());
}

/// Passes on slices that half of the DOMs are more than max_lag_slices beyond. When all clocks jump, no slice is open
/// any more, and the window follows the jump.
void SliceBuilder::follow_half() noexcept {
    while (n_open_ > 0 && half_ > base_ + config_.max_lag_slices) pass_on_oldest();
    if (n_open_ > 0 || half_ < base_ + window_.size()) return;
    counters_.add(SliceCounter::slices_missing, half_ - base_);
    base_ = half_;
}

bool SliceBuilder::open(std::uint64_t slice) noexcept {
    std::uint32_t buffer = none;
    if (!store_.buffers().try_take_free(buffer)) return false;
    position_of(slice) = buffer;
    ++n_open_;
    Slice& opened = store_.slice(buffer);
    opened.number = slice;
    opened.run = 0;
    opened.opened_ns = now_ns_;
    opened.opened_wall_ns = opened.last_wall_ns = clock_.wall_ns();
    for (Frame& frame : opened.frames) frame.clear();
    return true;
}

/// A trailer ends the frame. As far as boards are known, a trailer without hits has the number after the last data
/// datagram; it is not counted as a data datagram.
DomCounter SliceBuilder::add(std::uint32_t buffer, std::uint32_t dom, const clb::PacketView& packet) noexcept {
    Frame& frame = store_.slice(buffer).frames[dom];
    const clb::Header& header = packet.header;
    const bool is_trailer = (header.more_status[0] & trailer_bit) != 0;
    if (is_trailer && frame.has_trailer) return DomCounter::duplicate;
    if (!is_trailer || packet.n_hits() > 0)
        if (const DomCounter outcome = add_hits(buffer, dom, packet); outcome != DomCounter::used) return outcome;
    frame.status1 |= header.dom_status;
    frame.status2 |= header.more_status[0];
    if (!is_trailer) return DomCounter::used;
    frame.has_trailer = true;
    frame.trailer_has_hits = packet.n_hits() > 0;
    frame.trailer_sequence = header.udp_sequence;
    frame.n_numbers = std::max(frame.n_numbers, header.udp_sequence);
    return DomCounter::used;
}

/// Whether the earlier datagram with this number had the same hits. It did not if the board's clock stands still.
bool SliceBuilder::has_same(std::uint32_t buffer, std::uint32_t dom, const clb::PacketView& packet) noexcept {
    const Frame& frame = store_.slice(buffer).frames[dom];
    const auto pieces = std::span(frame.pieces).first(frame.n_pieces);
    const auto piece = std::ranges::find(pieces, packet.header.udp_sequence, &Frame::Piece::sequence);
    if (piece == pieces.end()) return packet.n_hits() == 0;
    const auto hits =
        store_.hits(buffer, dom)
            .subspan(std::size_t{piece->first_hit} * clb::hit_bytes, std::size_t{piece->n_hits} * clb::hit_bytes);
    return std::ranges::equal(hits, packet.hits);
}

DomCounter SliceBuilder::add_hits(std::uint32_t buffer, std::uint32_t dom, const clb::PacketView& packet) noexcept {
    Frame& frame = store_.slice(buffer).frames[dom];
    const std::uint32_t sequence = packet.header.udp_sequence;
    if (frame.seen.test(sequence))
        return has_same(buffer, dom, packet) ? DomCounter::duplicate : DomCounter::conflicting;
    if (frame.n_hits + packet.n_hits() > store_.config().max_hits) return DomCounter::no_room;
    std::memcpy(store_.hits(buffer, dom).data() + std::size_t{frame.n_hits} * clb::hit_bytes, packet.hits.data(),
                packet.hits.size());
    frame.seen.set(sequence);
    frame.pieces[frame.n_pieces++] = {sequence, frame.n_hits, packet.n_hits()};
    frame.n_hits += packet.n_hits();
    frame.n_numbers = std::max(frame.n_numbers, sequence + 1);
    ++frame.n_received;
    return DomCounter::used;
}

/// Waits until half of the DOMs agree on a time, within a window; no slice is passed on before. Then it discards the
/// slices outside the window.
void SliceBuilder::settle() noexcept {
    for (std::size_t i = 0; i + n_half() <= newest_.size() && newest_[i + n_half() - 1] > 0; ++i)
        if (newest_[i] - newest_[i + n_half() - 1] < window_.size()) return settle_at(newest_[i]);
}

void SliceBuilder::settle_at(std::uint64_t latest) noexcept {
    const std::uint64_t earliest = latest >= window_.size() ? latest - window_.size() + 1 : first_slice;
    base_ = latest;
    for (const std::uint32_t buffer : window_)
        if (buffer != none && store_.slice(buffer).number >= earliest)
            base_ = std::min(base_, store_.slice(buffer).number);
    for (std::uint32_t& buffer : window_) {
        if (buffer == none) continue;
        const std::uint64_t number = store_.slice(buffer).number;
        if (number >= base_ && number < base_ + window_.size()) continue;
        for (std::uint32_t dom = 0; dom < n_doms(); ++dom)
            revoke(buffer, dom, number < base_ ? DomCounter::late : DomCounter::ahead);
        store_.buffers().give_back(buffer);
        buffer = none;
        --n_open_;
    }
    settled_ = true;
}

/// Removes the data of this DOM from an open slice, and counts its datagrams under `why` instead of as used.
void SliceBuilder::revoke(std::uint32_t buffer, std::uint32_t dom, DomCounter why) noexcept {
    Slice& slice = store_.slice(buffer);
    Frame& frame = slice.frames[dom];
    DomState& state = doms_[dom];
    state.counters.set(DomCounter::used, state.counters[DomCounter::used] - frame.n_datagrams());
    state.counters.set(DomCounter::hits, state.counters[DomCounter::hits] - frame.n_hits);
    state.counters.add(why, frame.n_datagrams());
    for (std::uint32_t i = 0; i < frame.n_pieces; ++i)
        state.log.add_unused(slice.number, frame.pieces[i].sequence, why);
    if (frame.has_trailer && !frame.trailer_has_hits) state.log.add_unused(slice.number, frame.trailer_sequence, why);
    frame.clear();
}

std::size_t SliceBuilder::pass_on(Nanoseconds read_until_ns) noexcept {
    read_until_ns_ = std::max(read_until_ns_, read_until_ns);
    std::size_t n = 0;
    for (; settled_ && n_open_ > 0 && is_due(); ++n) pass_on_oldest();
    return n;
}

bool SliceBuilder::is_due() noexcept {
    const std::uint32_t buffer = position_of(base_);
    if (buffer != none && is_whole(store_.slice(buffer))) return true;
    return read_until_ns_ - oldest_opened_ns() > config_.timeout_ns;
}

Nanoseconds SliceBuilder::oldest_opened_ns() noexcept {
    Nanoseconds oldest_ns = read_until_ns_;
    for (const std::uint32_t buffer : window_)
        if (buffer != none) oldest_ns = std::min(oldest_ns, store_.slice(buffer).opened_ns);
    return oldest_ns;
}

/// True when no more datagrams are expected for the slice. None is expected from a silent DOM, except for the first
/// slice: the first datagram of a DOM may come a little later than those with which the others end the slice.
bool SliceBuilder::is_whole(const Slice& slice) const noexcept {
    for (std::uint32_t dom = 0; dom < n_doms(); ++dom) {
        const Frame& frame = slice.frames[dom];
        const bool is_ended = store_.config().has_trailers ? frame.is_complete(true) : doms_[dom].newest > slice.number;
        const bool is_awaited = !is_silent(dom) || !has_passed_on_;
        if (!is_ended && (is_awaited || !frame.is_absent())) return false;
    }
    return true;
}

void SliceBuilder::pass_on_oldest() noexcept {
    std::uint32_t& position = position_of(base_);
    if (position == none) {
        counters_.add(SliceCounter::slices_missing);
    } else {
        settle_run(position);
        count_frames(position);
        store_.slice(position).built_wall_ns = clock_.wall_ns();
        store_.pass_on(position);
        position = none;
        --n_open_;
        has_passed_on_ = true;
    }
    ++base_;
    look_for_silence();
}

/// Sets the slice's run, and revokes the frames of other runs.
void SliceBuilder::settle_run(std::uint32_t buffer) noexcept {
    Slice& slice = store_.slice(buffer);
    if (config_.run == 0) vote(slice);
    slice.run = run_.value_or(0);
    for (std::uint32_t dom = 0; dom < n_doms(); ++dom)
        if (!slice.frames[dom].is_absent() && (!run_ || slice.frames[dom].run != *run_))
            revoke(buffer, dom, DomCounter::other_run);
}

/// Each DOM that sends votes for the run of its frame, or of its last datagram if it has no frame. The run of the slice
/// before stays when no run has half of the votes, and when it has half of them itself.
void SliceBuilder::vote(const Slice& slice) noexcept {
    votes_.clear();
    for (std::uint32_t dom = 0; dom < n_doms(); ++dom)
        if (const Frame& frame = slice.frames[dom]; !frame.is_absent() || !is_silent(dom))
            votes_.push_back(frame.is_absent() ? doms_[dom].run : frame.run);
    std::ranges::sort(votes_);
    std::optional<std::uint32_t> chosen;
    for (auto first = votes_.begin(); first != votes_.end();) {
        const auto same = std::ranges::equal_range(first, votes_.end(), *first);
        const bool is_half = 2 * same.size() >= votes_.size();
        if (is_half && (!chosen || *first == run_)) chosen = *first;
        first = same.end();
    }
    if (chosen) run_ = chosen;
}

void SliceBuilder::count_frames(std::uint32_t buffer) noexcept {
    Slice& slice = store_.slice(buffer);
    bool is_complete = true;
    for (std::uint32_t dom = 0; dom < n_doms(); ++dom) {
        Frame& frame = slice.frames[dom];
        frame.sort_pieces();
        const DomCounter outcome = frame.is_absent()                                 ? DomCounter::frames_absent
                                   : frame.is_complete(store_.config().has_trailers) ? DomCounter::frames_complete
                                                                                     : DomCounter::frames_incomplete;
        is_complete = is_complete && outcome == DomCounter::frames_complete;
        doms_[dom].counters.add(outcome);
        doms_[dom].counters.add(DomCounter::missing, frame.n_numbers - frame.n_received);
        counters_.add(SliceCounter::hits, frame.n_hits);
        log_frame(doms_[dom], frame, slice.number);
    }
    counters_.add(SliceCounter::slices);
    counters_.add(is_complete ? SliceCounter::slices_complete : SliceCounter::slices_incomplete);
}

void SliceBuilder::log_frame(DomState& dom, const Frame& frame, std::uint64_t slice) noexcept {
    for (std::uint32_t sequence = 0; sequence < std::min(frame.n_numbers, max_datagrams); ++sequence)
        if (frame.seen.test(sequence)) dom.log.add_seen(slice, sequence);
    if (frame.has_trailer && !frame.trailer_has_hits) dom.log.add_seen(slice, frame.trailer_sequence);
}

/// Marks a DOM as silent when the oldest slice is more than max_lag_slices after the DOM's last one. A DOM that sent
/// the slice just before is never silent: otherwise, with a lag of 0, the first DOM that ends a slice would end it for
/// all.
void SliceBuilder::look_for_silence() noexcept {
    const std::uint64_t lag_slices = std::max(config_.max_lag_slices, 1U);
    for (DomState& dom : doms_) {
        if (dom.silent.load(std::memory_order_relaxed) || dom.newest + lag_slices >= base_) continue;
        dom.silent.store(true, std::memory_order_relaxed);
        dom.counters.add(DomCounter::silences);
        dom.counters.set(DomCounter::silent, 1);
    }
}

void SliceBuilder::finish() noexcept {
    if (!settled_ && n_open_ > 0) {  // fewer than half of the DOMs have sent: use what they sent
        sort_newest();
        settle_at(newest_.front());
    }
    while (n_open_ > 0) pass_on_oldest();
}

}  // namespace anello::km3net

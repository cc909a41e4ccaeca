// SPDX-License-Identifier: Apache-2.0
#include "km3net/simulate/plain_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace anello::km3net {
namespace {

constexpr std::size_t most_findings = 20;
constexpr std::uint32_t type_of_hits = 0x54544443, valid_clock = 1U << 31, last_datagram = 1U << 31;
constexpr std::uint32_t ticks_of_slice = 6'250'000;
constexpr Nanoseconds slack_ns = 1'000'000;

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<std::uint32_t>(bytes[at + i]);
    return number;
}

}  // namespace

std::uint32_t PlainFrame::n_hits() const noexcept {
    std::size_t n_bytes = 0;
    for (const auto& [number, bytes] : hits) n_bytes += bytes.size();
    return static_cast<std::uint32_t>(n_bytes / PlainFrame::hit_bytes);
}

struct PlainSlices::Datagram {
    std::uint32_t run, number, ticks, dom_id, status1, status2;
    std::uint64_t slice;
    std::span<const std::byte> hits;

    bool is_trailer() const noexcept { return (status2 & last_datagram) != 0; }
};

PlainSlices::PlainSlices(const SliceBuilderConfig& rules, std::span<const Dom> doms, Use use, Count n_given_back)
    : rules_(rules),
      use_(std::move(use)),
      n_given_back_(std::move(n_given_back)),
      run_(rules.run == 0 ? std::nullopt : std::optional(rules.run)) {
    for (const Dom& dom : doms) doms_.push_back({.id = dom.id});
}

std::optional<PlainSlices::Datagram> PlainSlices::parsed(std::span<const std::byte> bytes, std::size_t header_bytes) {
    if (bytes.size() < header_bytes || (bytes.size() - header_bytes) % PlainFrame::hit_bytes != 0) return std::nullopt;
    if (number_at(bytes, 0) != type_of_hits) return std::nullopt;
    const auto hits = bytes.subspan(header_bytes);
    for (std::size_t i = 0; i < hits.size(); i += PlainFrame::hit_bytes)
        if (static_cast<std::uint32_t>(hits[i]) >= n_pmts) return std::nullopt;
    const std::uint64_t seconds = number_at(bytes, 12) & 0x7fffffffU;
    return Datagram{.run = number_at(bytes, 4),
                    .number = number_at(bytes, 8),
                    .ticks = number_at(bytes, 16),
                    .dom_id = number_at(bytes, 20),
                    .status1 = number_at(bytes, 24),
                    .status2 = header_bytes > 28 ? number_at(bytes, 28) : 0,
                    .slice = seconds * 10 + number_at(bytes, 16) / ticks_of_slice,
                    .hits = hits};
}

std::optional<std::uint32_t> PlainSlices::dom_of(std::uint32_t id) const noexcept {
    const auto dom = std::ranges::find(doms_, id, &DomState::id);
    return dom == doms_.end() ? std::nullopt : std::optional(static_cast<std::uint32_t>(dom - doms_.begin()));
}

void PlainSlices::read(std::span<const receive::Datagram> datagrams, Nanoseconds now_ns) {
    place_pending();
    look_for_forgotten(now_ns);
    for (const receive::Datagram& one : datagrams)
        pending_.push_back({one.stream, {one.bytes.begin(), one.bytes.end()}});
    is_empty_ = datagrams.empty();
    batch_ns_ = now_ns;
    n_given_back_at_read_ = n_given_back_();
}

void PlainSlices::place_pending() {
    while (!pending_.empty()) place_next();
}

void PlainSlices::place_next() {
    const Read one = std::move(pending_.front());
    pending_.pop_front();
    const auto datagram = parsed(one.bytes, rules_.header_bytes());
    const auto dom = datagram ? dom_of(datagram->dom_id) : std::nullopt;
    if (!dom) return void(++n_malformed_);
    ++n_well_formed_;
    DomState& state = doms_[*dom];
    ++state.counts[static_cast<std::size_t>(DomCounter::datagrams)];
    const auto fate = one.stream == *dom ? place(*dom, *datagram) : DomCounter::strangers;
    if (fate) ++state.counts[static_cast<std::size_t>(*fate)];
    if (!is_settled_ && fate != DomCounter::strangers) settle();
}

std::optional<DomCounter> PlainSlices::place(std::uint32_t dom, const Datagram& datagram) {
    if (const auto why = rejected(datagram)) return why;
    hear(dom, datagram);
    if (is_settled_ && datagram.slice < base_) return DomCounter::late;
    if (is_settled_ && datagram.slice >= base_ + rules_.window_slices) return DomCounter::ahead;
    if (!has_place(datagram.slice)) return DomCounter::ahead;
    if (!open_.contains(datagram.slice) && !has_buffer()) return DomCounter::no_buffer;
    PlainFrame& frame = opened(datagram.slice).frames[dom];
    if (frame.is_absent()) frame.run = datagram.run;
    if (frame.run != datagram.run) return DomCounter::other_run;
    return place_in(frame, datagram);
}

std::optional<DomCounter> PlainSlices::rejected(const Datagram& datagram) const {
    if ((datagram.status1 & valid_clock) == 0) return DomCounter::no_clock;
    if (rules_.run != 0 && datagram.run != rules_.run) return DomCounter::other_run;
    if (datagram.ticks % ticks_of_slice != 0 || datagram.ticks / ticks_of_slice >= 10 || datagram.slice == 0)
        return DomCounter::wrong_time;
    if (datagram.number >= max_datagrams) return DomCounter::beyond;
    return std::nullopt;
}

std::optional<DomCounter> PlainSlices::place_in(PlainFrame& frame, const Datagram& datagram) const {
    if (datagram.is_trailer() && frame.trailer) return DomCounter::duplicate;
    if (!datagram.is_trailer() || !datagram.hits.empty()) {
        const auto same = frame.hits.find(datagram.number);
        if (same != frame.hits.end())
            return std::ranges::equal(same->second, datagram.hits) ? DomCounter::duplicate : DomCounter::conflicting;
        if (frame.n_hits() + datagram.hits.size() / PlainFrame::hit_bytes > rules_.store.max_hits)
            return DomCounter::no_room;
        frame.hits[datagram.number] = {datagram.hits.begin(), datagram.hits.end()};
    }
    frame.status1 |= datagram.status1;
    frame.status2 |= datagram.status2;
    if (!datagram.is_trailer()) return std::nullopt;
    frame.trailer = datagram.number;
    frame.trailer_has_hits = !datagram.hits.empty();
    return std::nullopt;
}

/// Before DOMs agree on a time, another slice may have the place of this one.
bool PlainSlices::has_place(std::uint64_t number) const {
    return std::ranges::none_of(open_, [&](const auto& one) {
        return one.first != number && one.first % rules_.window_slices == number % rules_.window_slices;
    });
}

/// Buffers are used by open slices and by those that the trigger had not given back when the batch was read. Several
/// slices may be opened in one batch of datagrams, so that none may be free although the node waits for buffers.
bool PlainSlices::has_buffer() const {
    return open_.size() + n_slices_ - n_given_back_at_read_ < rules_.store.n_slices;
}

PlainSlice& PlainSlices::opened(std::uint64_t number) {
    const auto [one, is_new] = open_.try_emplace(number);
    PlainSlice& slice = one->second;
    if (!is_new) return slice;
    slice.number = number;
    slice.opened_ns = batch_ns_;
    slice.frames.resize(doms_.size());
    return slice;
}

void PlainSlices::hear(std::uint32_t dom, const Datagram& datagram) {
    DomState& state = doms_[dom];
    state.run = datagram.run;
    if (std::exchange(state.newest, datagram.slice) == datagram.slice) return;
    state.is_silent = false;
    if (is_settled_) follow_half();
}

std::vector<std::uint64_t> PlainSlices::newest_first() const {
    std::vector<std::uint64_t> newest;
    for (const DomState& dom : doms_) newest.push_back(dom.newest);
    std::ranges::sort(newest, std::greater<>());
    return newest;
}

void PlainSlices::follow_half() {
    const std::uint64_t half = newest_first()[n_half() - 1];
    while (!open_.empty() && half > base_ + rules_.max_lag_slices) pass_on_oldest();
    if (!open_.empty() || half < base_ + rules_.window_slices) return;
    n_missing_ += half - base_;
    base_ = half;
}

void PlainSlices::settle() {
    const auto newest = newest_first();
    for (std::size_t i = 0; i + n_half() <= newest.size(); ++i) {
        const std::uint64_t last = newest[i + n_half() - 1];
        if (last > 0 && newest[i] - last < rules_.window_slices) return settle_at(newest[i]);
    }
}

/// The window is as early as it can be with the slice in it that half of the DOMs have agreed on.
void PlainSlices::settle_at(std::uint64_t latest) {
    is_settled_ = true;
    base_ = latest;
    for (const auto& [number, slice] : open_)
        if (number + rules_.window_slices > latest) base_ = std::min(base_, number);
    for (auto one = open_.begin(); one != open_.end();) {
        const bool is_early = one->first < base_, is_ahead = one->first >= base_ + rules_.window_slices;
        for (std::uint32_t dom = 0; (is_early || is_ahead) && dom < doms_.size(); ++dom)
            drop(one->second, dom, is_early ? DomCounter::late : DomCounter::ahead);
        one = is_early || is_ahead ? open_.erase(one) : std::next(one);
    }
}

void PlainSlices::drop(PlainSlice& slice, std::uint32_t dom, DomCounter why) {
    doms_[dom].counts[static_cast<std::size_t>(why)] += slice.frames[dom].n_datagrams();
    slice.frames[dom] = {};
}

bool PlainSlices::is_whole(const PlainSlice& slice) const {
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom) {
        const PlainFrame& frame = slice.frames[dom];
        const bool is_ended = rules_.store.has_trailers ? frame.is_complete(true) : doms_[dom].newest > slice.number;
        const bool is_awaited = !doms_[dom].is_silent || n_slices_ == 0;
        if (!is_ended && (is_awaited || !frame.is_absent())) return false;
    }
    return true;
}

bool PlainSlices::is_oldest_whole() const {
    const auto oldest = open_.find(base_);
    return oldest != open_.end() && is_whole(oldest->second);
}

Nanoseconds PlainSlices::oldest_opened_ns(Nanoseconds now_ns) const {
    Nanoseconds oldest_ns = now_ns;
    for (const auto& [number, slice] : open_) oldest_ns = std::min(oldest_ns, slice.opened_ns);
    return oldest_ns;
}

void PlainSlices::pass_on_oldest() {
    if (auto slice = open_.extract(base_)) {
        settle_run(slice.mapped());
        count(slice.mapped());
        due_.push_back(std::move(slice.mapped()));
    } else {
        ++n_missing_;
    }
    ++base_;
    look_for_silence();
}

/// The builder passed this slice on, though half of the DOMs were not far beyond it.
void PlainSlices::pass_on_until(std::uint64_t number, Nanoseconds now_ns) {
    while (due_.empty() && !open_.empty()) {
        const bool has_ended = is_ending_ && is_empty_;
        if (!is_settled_ && has_ended) settle_at(newest_first().front());
        const bool is_late = now_ns - oldest_opened_ns(now_ns) > rules_.timeout_ns;
        if (!is_settled_ || (!is_oldest_whole() && !is_late && !has_ended))
            return complain(fmt::format("slice {} was passed on before it was whole", number - first_));
        pass_on_oldest();
    }
}

void PlainSlices::settle_run(PlainSlice& slice) {
    if (rules_.run == 0)
        if (const auto run = voted(slice)) run_ = run;
    slice.run = run_.value_or(0);
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom)
        if (!slice.frames[dom].is_absent() && (!run_ || slice.frames[dom].run != *run_))
            drop(slice, dom, DomCounter::other_run);
}

/// The run that at least half of the sending DOMs give; the present one if it is among them.
std::optional<std::uint32_t> PlainSlices::voted(const PlainSlice& slice) const {
    std::map<std::uint32_t, std::size_t> votes;
    std::size_t n_votes = 0;
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom) {
        const PlainFrame& frame = slice.frames[dom];
        if (frame.is_absent() && doms_[dom].is_silent) continue;
        ++votes[frame.is_absent() ? doms_[dom].run : frame.run];
        ++n_votes;
    }
    std::optional<std::uint32_t> chosen;
    for (const auto& [run, n] : votes)
        if (2 * n >= n_votes && (!chosen || run == run_)) chosen = run;
    return chosen;
}

void PlainSlices::count(const PlainSlice& slice) {
    const bool has_trailers = rules_.store.has_trailers;
    const auto is_complete = [&](const PlainFrame& frame) { return frame.is_complete(has_trailers); };
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom) {
        const PlainFrame& frame = slice.frames[dom];
        const auto add = [&](DomCounter counter, std::uint64_t n) {
            doms_[dom].counts[static_cast<std::size_t>(counter)] += n;
        };
        add(DomCounter::used, frame.n_datagrams());
        add(DomCounter::hits, frame.n_hits());
        add(DomCounter::missing, frame.n_numbers() - frame.hits.size());
        add(frame.is_absent()    ? DomCounter::frames_absent
            : is_complete(frame) ? DomCounter::frames_complete
                                 : DomCounter::frames_incomplete,
            1);
        n_hits_ += frame.n_hits();
    }
    ++n_slices_;
    n_complete_ += std::ranges::all_of(slice.frames, is_complete) ? 1 : 0;
}

void PlainSlices::look_for_silence() {
    const std::uint64_t lag_slices = rules_.max_lag_slices == 0 ? 1 : rules_.max_lag_slices;
    for (DomState& dom : doms_) {
        if (dom.is_silent || dom.newest + lag_slices >= base_) continue;
        dom.is_silent = true;
        ++dom.counts[static_cast<std::size_t>(DomCounter::silences)];
    }
}

/// Called when the builder has done all that the datagrams before asked for. A time-out is due when the node has seen
/// all streams empty; after a pause of the process not at once (receive/datagrams/read_times.hpp).
void PlainSlices::look_for_forgotten(Nanoseconds now_ns) {
    if (now_ns - std::exchange(last_read_ns_, now_ns) > 15 * slack_ns) gap_ns_ = now_ns;
    const bool was_read = is_empty_ && is_settled_ && !open_.empty() && batch_ns_ - gap_ns_ > 15 * slack_ns;
    if (!due_.empty())
        complain(
            fmt::format("slice {} was not passed on, and half of the DOMs are far beyond", due_[0].number - first_));
    else if (is_settled_ && is_oldest_whole())
        complain(fmt::format("slice {} is whole, and was not passed on", base_ - first_));
    else if (was_read && batch_ns_ - oldest_opened_ns(batch_ns_) > rules_.timeout_ns + slack_ns)
        complain(fmt::format("slice {} was not passed on after the time-out", base_ - first_));
}

void PlainSlices::pass_on(SliceStore& slices, std::uint32_t buffer, Nanoseconds now_ns) {
    if (is_lost_) return;
    const std::uint64_t number = slices.slice(buffer).number;
    if (first_ == 0) first_ = number;
    while (due_.empty() && !pending_.empty()) place_next();
    pass_on_until(number, now_ns);
    if (due_.empty()) return complain(fmt::format("slice {} was passed on, and should not be", number - first_));
    const PlainSlice expected = std::move(due_.front());
    due_.pop_front();
    compare(slices, buffer, expected);
    use_(expected);
}

void PlainSlices::compare(SliceStore& slices, std::uint32_t buffer, const PlainSlice& expected) {
    const Slice& slice = slices.slice(buffer);
    if (slice.number != expected.number)
        return complain(fmt::format("slice {} was passed on, and slice {} is due", slice.number - first_,
                                    expected.number - first_));
    if (slice.run != expected.run)
        complain(fmt::format("slice {} has the run {}, and not {}", slice.number - first_, slice.run, expected.run));
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom)
        compare_frame(slice, dom, slices.hits(buffer, dom), expected.frames[dom]);
}

void PlainSlices::compare_frame(const Slice& slice, std::uint32_t dom, std::span<const std::byte> hits,
                                const PlainFrame& expected) {
    const Frame& frame = slice.frames[dom];
    const auto has = [&](bool is_right, const char* what) {
        if (!is_right) complain(fmt::format("slice {}, DOM {}: {}", slice.number - first_, dom, what));
    };
    has(frame.is_absent() == expected.is_absent(), "it is absent or not, unlike its datagrams");
    has(frame.has_trailer == expected.trailer.has_value(), "it has a trailer or not, unlike its datagrams");
    has(frame.n_received == expected.hits.size() && frame.n_numbers == expected.n_numbers(),
        "other numbers of datagrams than were sent and read");
    has(frame.n_hits == expected.n_hits(), "another number of hits than was sent and read");
    has(frame.status1 == expected.status1 && frame.status2 == expected.status2, "another status than was sent");
    has(frame.n_pieces == expected.hits.size(), "some datagrams are in it twice, or not at all");
    const auto pieces = std::span(frame.pieces).first(std::min<std::size_t>(frame.n_pieces, max_datagrams));
    auto sent = expected.hits.begin();
    for (auto piece = pieces.begin(); piece != pieces.end() && sent != expected.hits.end(); ++piece, ++sent) {
        const std::size_t begin = std::size_t{piece->first_hit} * PlainFrame::hit_bytes;
        const std::size_t n_bytes = std::size_t{piece->n_hits} * PlainFrame::hit_bytes;
        const bool is_inside = begin + n_bytes <= hits.size();
        has(piece->sequence == sent->first, "it has another datagram than was sent");
        has(is_inside && std::ranges::equal(hits.subspan(begin, n_bytes), sent->second),
            "its hits are not those that were sent");
    }
}

void PlainSlices::complain(std::string what) {
    is_lost_ = is_lost_ || wrong_.size() >= most_findings;
    if (!is_lost_) wrong_.push_back(std::move(what));
}

/// The values of all counters of a page, by block and name.
struct PlainSlices::Values {
    explicit Values(const CounterPage& page) {
        for (const CounterPage::Sample& one : page.read()) by_name[one.block + "." + one.name] = one.value;
    }
    std::map<std::string, std::uint64_t> by_name;
};

void PlainSlices::end(const CounterPage& page, Nanoseconds now_ns) {
    place_pending();
    look_for_forgotten(now_ns);
    if (!open_.empty()) complain(fmt::format("slice {} was not passed on at the end", open_.begin()->first - first_));
    const Values values(page);
    const auto compare_one = [&](const std::string& name, std::uint64_t expected) {
        const auto value = values.by_name.find(name);
        const std::uint64_t counted = value == values.by_name.end() ? 0 : value->second;
        if (counted != expected) complain(fmt::format("{} is {}, and should be {}", name, counted, expected));
    };
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom)
        for (std::size_t i = 0; i < counter_labels<DomCounter>.size(); ++i)
            if (static_cast<DomCounter>(i) != DomCounter::silent)
                compare_one(fmt::format("build.board{}.{}", dom, counter_labels<DomCounter>[i].name),
                            doms_[dom].counts[i]);
    compare_one("build.slices", n_slices_);
    compare_one("build.slices_complete", n_complete_);
    compare_one("build.slices_incomplete", n_slices_ - n_complete_);
    compare_one("build.slices_missing", n_missing_);
    compare_one("build.hits", n_hits_);
    compare_one("build.verdict.ok", n_well_formed_);
    std::uint64_t n_malformed = 0;
    for (const auto& [name, value] : values.by_name)
        if (name.starts_with("build.verdict.") && name != "build.verdict.ok") n_malformed += value;
    if (n_malformed != n_malformed_)
        complain(fmt::format("{} datagrams were malformed, and {} are counted", n_malformed_, n_malformed));
}

}  // namespace anello::km3net

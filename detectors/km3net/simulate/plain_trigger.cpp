// SPDX-License-Identifier: Apache-2.0
#include "km3net/simulate/plain_trigger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace anello::km3net {
namespace {

constexpr std::uint32_t cut_pulse_ns = 255, latest_raw_ns = 105'000'000;
constexpr double units_of_ns = 16, metres_per_ns = 0.299792458,
                 group_index = 1.38009;  // of light in the sea, its group
constexpr std::uint32_t of_muon = 1U << 4, of_limit = 1U << 31;

std::int64_t in_units(double ns) {
    return std::llround(ns * units_of_ns);
}

std::set<std::uint32_t> pmts_of(std::span<const PlainHit> hits) {
    std::set<std::uint32_t> pmts;
    for (const PlainHit& hit : hits) pmts.insert(hit.channel);
    return pmts;
}

void join(PlainEvent& before, const PlainEvent& event) {
    before.end = std::max(before.end, event.end);
    before.n_hits = std::max(before.n_hits, event.n_hits);
    before.n_doms = std::max(before.n_doms, event.n_doms);
    before.mask |= event.mask;
    ++before.n_overlays;
    before.members.insert(event.members.begin(), event.members.end());
}

/// The hit `first` and all that follow within the window.
std::span<const PlainHit> together(std::span<const PlainHit> hits, std::size_t first, std::int64_t window) {
    const auto is_near = [&](const PlainHit& hit) { return hit.time - hits[first].time <= window; };
    return hits.subspan(first, static_cast<std::size_t>(std::ranges::count_if(hits.subspan(first), is_near)));
}

/// Coincidences that are accepted, one after another; no hit is in two of them.
template <typename IsOne>
std::vector<std::span<const PlainHit>> coincidences(std::span<const PlainHit> hits, std::int64_t window, IsOne is_one) {
    std::vector<std::span<const PlainHit>> found;
    for (std::size_t i = 0; i < hits.size();) {
        std::size_t end = i + 1;
        while (end < hits.size() && hits[end].time - hits[i].time <= window) ++end;
        const auto one = hits.subspan(i, end - i);
        const bool is_accepted = one.size() > 1 && is_one(one);
        if (is_accepted) found.push_back(one);
        i = is_accepted ? end : i + 1;
    }
    return found;
}

}  // namespace

PlainTrigger::PlainTrigger(const SliceTriggerConfig& config, bool has_trailers, std::span<const Dom> doms)
    : config_(config), has_trailers_(has_trailers), doms_(doms.begin(), doms.end()) {
    for (const Dom& a : doms_) {
        auto& row = windows_.emplace_back();
        for (const Dom& b : doms_) longest_ = std::max(longest_, row.emplace_back(window_of(a, b)).most);
    }
}

/// Least and most difference of the times of two DOMs that one muon may hit from at most the road's width away: the
/// condition "3B" of public trigger code of KM3NeT.
PlainTrigger::Window PlainTrigger::window_of(const Dom& a, const Dom& b) const {
    const Vec apart = a.position_m - b.position_m;
    const double d = std::sqrt(apart.dot(apart)), road = config_.events.road_m;
    if (d > config_.events.reach_m) return {1, 0};
    const double tangent = std::sqrt(group_index * group_index - 1),
                 sine = std::sqrt(1 - 1 / (group_index * group_index));
    double least_m = 0, most_m = group_index * d;
    if (d > 2 * road) least_m = std::sqrt(d * d - 4 * road * road);
    if (d > road / 2 * std::sqrt(tangent * tangent + 10 + 9 / (tangent * tangent)))
        least_m = std::sqrt(d * d - road * road) - road * tangent;
    if (d >= road) most_m = std::sqrt(d * d - road * road * sine * sine) + road * sine * tangent;
    return {in_units(least_m / metres_per_ns - config_.events.extra_ns),
            in_units(most_m / metres_per_ns + config_.events.extra_ns)};
}

PlainDecision PlainTrigger::decide(const PlainSlice& slice) {
    PlainDecision decision{.slice = slice, .doms = {}, .l1 = {}, .l1_by_time = {}, .events = {}};
    decision.doms.resize(doms_.size());
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom)
        if (!slice.frames[dom].is_absent()) look_at(slice.frames[dom], dom, decision);
    decision.l1_by_time = decision.l1;
    std::ranges::sort(decision.l1_by_time, {},
                      &PlainL1::time);  // as the trigger: this decides the order of equal times
    find_events(decision);
    add(TriggerCounter::slices);
    return decision;
}

void PlainTrigger::look_at(const PlainFrame& frame, std::uint32_t dom, PlainDecision& decision) {
    PlainDecision::DomPart& part = decision.doms[dom];
    const TriggerCounter fate =
        frame.is_complete(has_trailers_) ? read(frame, dom, part) : TriggerCounter::frames_incomplete;
    add(fate);
    part.is_used = fate == TriggerCounter::frames_used;
    if (!part.is_used) return add(TriggerCounter::hits_rejected, frame.n_hits());
    std::ranges::sort(part.hits);
    for (const PlainHit& hit : part.hits) ++part.n_by_pmt[hit.channel];
    add(TriggerCounter::hits_used, part.hits.size());
    add(TriggerCounter::hits_continued, frame.n_hits() - part.hits.size());
    find_coincidences(part, dom, decision);
}

TriggerCounter PlainTrigger::read(const PlainFrame& frame, std::uint32_t dom, PlainDecision::DomPart& part) {
    std::array<std::uint32_t, n_pmts> last_ns{}, last_tot_ns{};
    for (const auto& [number, bytes] : frame.hits)
        for (std::size_t i = 0; i < bytes.size(); i += PlainFrame::hit_bytes) {
            const auto byte = [&](std::size_t k) { return static_cast<std::uint32_t>(bytes[i + k]); };
            const std::uint32_t channel = byte(0), tot_ns = byte(5);
            const std::uint32_t raw_ns = byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
            if (raw_ns > latest_raw_ns) return TriggerCounter::frames_out_of_range;
            if (raw_ns < last_ns[channel]) return TriggerCounter::frames_out_of_order;
            const bool is_rest = last_tot_ns[channel] == cut_pulse_ns && raw_ns == last_ns[channel] + cut_pulse_ns;
            last_ns[channel] = raw_ns;
            last_tot_ns[channel] = tot_ns;
            const double time = (raw_ns + doms_[dom].t0_ns[channel]) * units_of_ns;
            if (!is_rest) part.hits.push_back({std::lrint(time), channel, tot_ns, raw_ns});
        }
    return TriggerCounter::frames_used;
}

void PlainTrigger::find_coincidences(const PlainDecision::DomPart& part, std::uint32_t dom, PlainDecision& decision) {
    using Hits = std::span<const PlainHit>;
    const std::int64_t l1 = in_units(config_.l1_ns), l2 = in_units(config_.l2_ns);
    const auto has_near = [this](Hits hits) {
        return std::ranges::any_of(hits, [&](const PlainHit& hit) {
            return hit.channel != hits[0].channel && cos_between(hits[0].channel, hit.channel) >= config_.l2_cos_min;
        });
    };
    const auto different = coincidences(part.hits, l1, [](Hits hits) { return pmts_of(hits).size() > 1; });
    const auto any = coincidences(part.hits, l1, [](Hits) { return true; });
    const auto is_supernova = [this](Hits hits) { return pmts_of(hits).size() >= config_.sn_pmts; };
    add(TriggerCounter::l1_different_pmts, different.size());
    add(TriggerCounter::l1_any_pmts, any.size());
    add(TriggerCounter::l2, coincidences(part.hits, l2, has_near).size());
    add(TriggerCounter::supernova, coincidences(part.hits, l2, is_supernova).size());
    for (const Hits& one : config_.different_pmts ? different : any)
        decision.l1.push_back({one[0].time, dom, {one.begin(), one.end()}});
}

bool PlainTrigger::is_causal(const PlainL1& a, const PlainL1& b) const {
    const std::int64_t apart = std::abs(a.time - b.time);
    return windows_[a.dom][b.dom].least <= apart && apart <= windows_[a.dom][b.dom].most;
}

/// The hit and later ones that are causal with it; at most one more than the limit.
std::set<std::size_t> PlainTrigger::neighbours(const std::vector<PlainL1>& l1, std::size_t first) const {
    std::set<std::size_t> near{first};
    for (std::size_t k = first + 1; k < l1.size() && near.size() <= config_.events.limit; ++k)
        if (l1[k].time - l1[first].time <= longest_ && is_causal(l1[first], l1[k])) near.insert(k);
    return near;
}

/// Those of these hits that are causal with enough of the others: all that are not are left out, again and again.
std::set<std::size_t> PlainTrigger::core(const std::vector<PlainL1>& l1, std::set<std::size_t> near) const {
    const auto is_alone = [&](std::size_t one) {
        const auto n = std::ranges::count_if(
            near, [&](std::size_t other) { return other != one && is_causal(l1[one], l1[other]); });
        return static_cast<std::size_t>(n) + 1 < config_.events.min_hits;
    };
    while (true) {
        std::set<std::size_t> alone;
        std::ranges::copy_if(near, std::inserter(alone, alone.end()), is_alone);
        if (alone.empty()) return near;
        for (const std::size_t one : alone) near.erase(one);
    }
}

/// The event that begins with this hit, if there is one.
std::optional<PlainEvent> PlainTrigger::event_of(const std::vector<PlainL1>& l1, std::size_t first) const {
    std::set<std::size_t> near = neighbours(l1, first);
    const bool is_over = near.size() > config_.events.limit;
    if (!is_over) near = core(l1, std::move(near));
    std::set<std::uint32_t> doms;
    for (const std::size_t one : near) doms.insert(l1[one].dom);
    if (!near.contains(first) || near.size() < config_.events.min_hits) return std::nullopt;
    if (!is_over && doms.size() < config_.events.min_doms) return std::nullopt;
    return PlainEvent{.begin = l1[first].time,
                      .end = l1[*near.rbegin()].time,
                      .n_hits = static_cast<std::uint32_t>(near.size()),
                      .n_doms = static_cast<std::uint32_t>(doms.size()),
                      .n_overlays = 0,
                      .mask = is_over ? of_limit : of_muon,
                      .members = near};
}

void PlainTrigger::find_events(PlainDecision& decision) {
    std::vector<PlainEvent>& events = decision.events;
    for (std::size_t first = 0; first < decision.l1_by_time.size(); ++first) {
        const auto event = event_of(decision.l1_by_time, first);
        if (!event) continue;
        if (events.empty() || event->begin > events.back().end)
            events.push_back(*event);
        else
            join(events.back(), *event);
    }
    for (const PlainEvent& event : events) {
        add(TriggerCounter::events);
        add(TriggerCounter::events_overlaid, event.n_overlays);
        add(TriggerCounter::events_over_limit, (event.mask & of_limit) != 0 ? 1 : 0);
    }
}

std::vector<std::vector<PlainHit>> PlainTrigger::around(const PlainDecision& decision, const PlainEvent& event) const {
    const std::int64_t apart = in_units(config_.snapshot_ns);
    std::vector<std::vector<PlainHit>> found(doms_.size());
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom)
        if (decision.doms[dom].is_used)
            std::ranges::copy_if(decision.doms[dom].hits, std::back_inserter(found[dom]), [&](const PlainHit& hit) {
                return event.begin - apart <= hit.time && hit.time <= event.end + apart;
            });
    return found;
}

void PlainTrigger::compare(const EventSample& sample, const PlainDecision& decision, const PlainEvent& event,
                           std::vector<std::string>& wrong) const {
    const EventSpan& span = sample.span;
    const bool is_same = sample.slice == decision.slice.number && span.begin == event.begin && span.end == event.end &&
                         span.n_hits == event.n_hits && span.n_doms == event.n_doms &&
                         span.n_overlays == event.n_overlays && span.mask == event.mask;
    if (!is_same)
        return wrong.push_back(
            fmt::format("an event of {} L1 was found, and one of {} L1 should be", span.n_hits, event.n_hits));
    if (!has_hits(sample, decision, event)) wrong.emplace_back("an event has other hits around it than its slice");
}

bool PlainTrigger::has_hits(const EventSample& sample, const PlainDecision& decision, const PlainEvent& event) const {
    std::uint32_t n = 0;
    const auto hits = around(decision, event);
    for (std::uint32_t dom = 0; dom < hits.size(); ++dom)
        for (const PlainHit& hit : hits[dom]) {
            if (n == EventSample::max_hits) return sample.n_hits == n;
            const auto& all = decision.doms[dom].hits;
            const auto place = static_cast<std::size_t>(std::ranges::lower_bound(all, hit) - all.begin());
            const bool is_l1 = pmts_of(together(all, place, in_units(config_.l1_ns))).size() > 1;
            if (n >= sample.n_hits || sample.dom[n] != dom || sample.channel[n] != hit.channel) return false;
            if (sample.tot_ns[n] != hit.tot_ns || (sample.is_l1[n] != 0) != is_l1) return false;
            if (sample.time_ns[n] != static_cast<float>(hit.time - event.begin) / 16) return false;
            ++n;
        }
    return sample.n_hits == n;
}

void PlainTrigger::end(const CounterPage& page, std::vector<std::string>& wrong) const {
    for (const CounterPage::Sample& one : page.read()) {
        if (one.block != "trigger") continue;
        for (std::size_t i = 0; i < counter_labels<TriggerCounter>.size(); ++i)
            if (one.name == counter_labels<TriggerCounter>[i].name && one.value != counts_[i])
                wrong.push_back(fmt::format("trigger.{} is {}, and should be {}", one.name, one.value, counts_[i]));
    }
}

}  // namespace anello::km3net

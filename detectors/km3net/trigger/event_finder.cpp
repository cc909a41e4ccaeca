// SPDX-License-Identifier: Apache-2.0
#include "km3net/trigger/event_finder.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "km3net/slices/calibrated_hits.hpp"

namespace anello::km3net {
namespace {

constexpr double n_group = 1.38009, m_per_ns = 0.299792458;
const double tangent = std::sqrt(n_group * n_group - 1), sine = std::sqrt(1 - 1 / (n_group * n_group));

struct Range {
    double least_m, most_m;  // of the time difference times c
};

/// Range of time differences between two DOMs at distance d, both within distance `road` of a muon of any direction.
Range causal_range(double d, double road) noexcept {
    const double r = road;
    const double most = d < r ? n_group * d : std::sqrt(d * d - r * r * sine * sine) + r * sine * tangent;
    const double far = r / 2 * std::sqrt(tangent * tangent + 10 + 9 / (tangent * tangent));
    if (d <= 2 * r) return {0, most};
    return {d <= far ? std::sqrt(d * d - 4 * r * r) : std::sqrt(d * d - r * r) - r * tangent, most};
}

}  // namespace

EventFinder::EventFinder(const EventFinderConfig& config, std::span<const Dom> doms, std::uint32_t max_hits)
    : config_(config),
      n_doms_(static_cast<std::uint32_t>(doms.size())),
      windows_(doms.size() * doms.size(), Window{1, 0}),
      near_(config.limit + 1),
      n_partners_(config.limit + 1),
      dom_seen_(doms.size()) {
    if (config.min_doms < 2 || config.min_hits < config.min_doms || config.limit < config.min_hits)
        throw ConfigError("coincidences.min_hits", "must be at least coincidences.min_doms, and that 2",
                          std::to_string(config.min_hits), "4 and 4 are the experiment's.");
    events_.reserve(max_hits / config.min_hits + 1);
    members_.reserve(std::size_t{max_hits} + config.limit + 1);
    for (std::uint32_t a = 0; a < n_doms_; ++a)
        for (std::uint32_t b = 0; b < n_doms_; ++b) {
            const Vec apart = doms[a].position_m - doms[b].position_m;
            const double distance_m = std::sqrt(apart.dot(apart));
            if (distance_m > config.reach_m) continue;
            const Range range = causal_range(distance_m, config.road_m);
            const auto units = [](double ns) { return std::llround(ns * PackedHit::units_per_ns); };
            windows_[a * n_doms_ + b] = {units(range.least_m / m_per_ns - config.extra_ns),
                                         units(range.most_m / m_per_ns + config.extra_ns)};
            longest_ = std::max(longest_, windows_[a * n_doms_ + b].most);
        }
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::span<const EventSpan> EventFinder::find(std::span<const L1Hit> hits) noexcept {
    events_.clear();
    members_.clear();
    for (std::size_t i = 0; i + config_.min_hits <= hits.size(); ++i) {
        if (hits[i + config_.min_hits - 1].time - hits[i].time > longest_) continue;
        EventSpan event{};
        if (try_event(hits, i, event)) add(event);
    }
    return events_;
}

/// Tries to make an event of the hit `first` and of later hits that are causal with it.
bool EventFinder::try_event(std::span<const L1Hit> hits, std::size_t first, EventSpan& event) noexcept {
    gather(hits, first);
    const bool is_over = near_.size() > config_.limit;
    if (!is_over) prune(hits);
    if (near_.size() < config_.min_hits || near_.front() != first) return false;
    event = span_of(hits);
    event.mask = is_over ? EventSpan::over_limit : EventSpan::muon;
    return is_over || event.n_doms >= config_.min_doms;
}

void EventFinder::gather(std::span<const L1Hit> hits, std::size_t first) noexcept {
    near_.clear();
    near_.push_back(static_cast<std::uint32_t>(first));
    for (std::size_t k = first + 1; k < hits.size() && hits[k].time - hits[first].time <= longest_; ++k) {
        if (near_.size() > config_.limit) return;
        if (is_causal(hits[first], hits[k])) near_.push_back(static_cast<std::uint32_t>(k));
    }
}

/// Removes the hit with the fewest causal partners until each of the others has enough.
void EventFinder::prune(std::span<const L1Hit> hits) noexcept {
    n_partners_.assign(near_.size(), 0);
    for (std::size_t i = 0; i < near_.size(); ++i)
        for (std::size_t k = i + 1; k < near_.size(); ++k) {
            if (!is_causal(hits[near_[i]], hits[near_[k]])) continue;
            ++n_partners_[i];
            ++n_partners_[k];
        }
    while (near_.size() >= config_.min_hits) {
        const auto fewest = std::ranges::min_element(n_partners_) - n_partners_.begin();
        if (n_partners_[static_cast<std::size_t>(fewest)] + 1 >= config_.min_hits) return;
        const L1Hit gone = hits[near_[static_cast<std::size_t>(fewest)]];
        near_.erase(near_.begin() + fewest);
        n_partners_.erase(n_partners_.begin() + fewest);
        for (std::size_t i = 0; i < near_.size(); ++i) n_partners_[i] -= is_causal(gone, hits[near_[i]]) ? 1 : 0;
    }
}

EventSpan EventFinder::span_of(std::span<const L1Hit> hits) noexcept {
    EventSpan event{};
    event.begin = hits[near_.front()].time;
    event.end = hits[near_.back()].time;
    event.n_hits = static_cast<std::uint32_t>(near_.size());
    ++n_spans_;
    for (const std::uint32_t i : near_)
        if (std::exchange(dom_seen_[hits[i].dom], n_spans_) != n_spans_) ++event.n_doms;
    return event;
}

std::span<const std::uint32_t> EventFinder::members(std::size_t event) const noexcept {
    const std::size_t first = events_[event].first_member;
    const std::size_t end = event + 1 < events_.size() ? events_[event + 1].first_member : members_.size();
    return std::span(members_).subspan(first, end - first);
}

/// An event that is found again from one of its later hits is joined with the first one, which gets the hits of both.
void EventFinder::add(const EventSpan& event) noexcept {
    const bool is_new = events_.empty() || event.begin > events_.back().end;
    if (is_new) {
        events_.push_back(event);  // never allocates: the constructor reserved room for all possible events
        events_.back().first_member = static_cast<std::uint32_t>(members_.size());
    }
    members_.insert(members_.end(), near_.begin(), near_.end());
    if (is_new) return;
    const auto first = members_.begin() + events_.back().first_member;
    std::sort(first, members_.end());
    members_.erase(std::unique(first, members_.end()), members_.end());
    EventSpan& before = events_.back();
    before.end = std::max(before.end, event.end);
    before.n_hits = std::max(before.n_hits, event.n_hits);
    before.n_doms = std::max(before.n_doms, event.n_doms);
    before.mask |= event.mask;
    ++before.n_overlays;
}

}  // namespace anello::km3net

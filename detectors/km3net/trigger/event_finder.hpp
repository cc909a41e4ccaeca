// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "km3net/detector.hpp"
#include "km3net/slices/calibrated_hits.hpp"

namespace anello::km3net {

/// Parameters of the causality condition between DOMs. Defaults are for ARCA; for ORCA: road 43 m, reach 165 m.
struct EventFinderConfig {
    std::uint32_t min_hits = 4, min_doms = 4;  ///< L1 coincidences of an event
    double road_m = 90, reach_m = 500;         ///< largest distance from DOM to muon; largest distance of two DOMs
    double extra_ns = 25;
    std::uint32_t limit = 100;  ///< more causal hits than this make an event without a further check
};

/// A coincidence of one DOM, as the finder uses it. The time is in 1/16 ns.
struct L1Hit {
    std::int64_t time;
    std::uint32_t dom;
    std::span<const PackedHit> hits = {};  ///< all hits of the coincidence
};

struct EventSpan {
    static constexpr std::uint32_t muon = 1U << 4, over_limit = 1U << 31;  ///< bits of the experiment's trigger_mask
    std::int64_t begin, end;                                               ///< times of its first and last hit, 1/16 ns
    std::uint32_t n_hits, n_doms, n_overlays, mask;
    std::uint32_t first_member;  ///< index of its first hit in the list of all events' hits
};

/// Finds groups of L1 coincidences that one muon of unknown direction can have caused: each is in the causal window of
/// at least min_hits - 1 others ("3B" with road, as in public trigger code of KM3NeT).
class EventFinder {
  public:
    /// The caller passes at most max_hits L1 coincidences of a slice. Throws ConfigError.
    EventFinder(const EventFinderConfig& config, std::span<const Dom> doms, std::uint32_t max_hits);

    // Hot path: no allocation, no lock, no log, no throw.
    /// `hits` must be sorted by time. Events are sorted by time; events that overlap are joined into one.
    std::span<const EventSpan> find(std::span<const L1Hit> hits) noexcept;
    /// Indices of the hits of one event that the last find() returned, in ascending order.
    std::span<const std::uint32_t> members(std::size_t event) const noexcept;
    /// Whether one muon can have caused both hits.
    bool is_causal(const L1Hit& a, const L1Hit& b) const noexcept {
        const Window& window = windows_[a.dom * n_doms_ + b.dom];
        const std::int64_t apart = a.time < b.time ? b.time - a.time : a.time - b.time;
        return apart >= window.least && apart <= window.most;
    }

  private:
    struct Window {
        std::int64_t least, most;  ///< 1/16 ns; if most < least, no two hits are causal
    };

    bool try_event(std::span<const L1Hit> hits, std::size_t first, EventSpan& event) noexcept;
    void gather(std::span<const L1Hit> hits, std::size_t first) noexcept;
    void prune(std::span<const L1Hit> hits) noexcept;
    EventSpan span_of(std::span<const L1Hit> hits) noexcept;
    void add(const EventSpan& event) noexcept;

    EventFinderConfig config_;
    std::uint32_t n_doms_;
    std::vector<Window> windows_;  ///< one for each pair of DOMs
    std::int64_t longest_ = 0;
    std::vector<std::uint32_t> near_, n_partners_;  ///< scratch: indices of hits, number of causal partners of each
    std::vector<std::uint64_t> dom_seen_;           ///< by DOM: number of the last event that contained it
    std::uint64_t n_spans_ = 0;
    std::vector<EventSpan> events_;
    std::vector<std::uint32_t> members_;  ///< indices of hits, event after event
};

}  // namespace anello::km3net

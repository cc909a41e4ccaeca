// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "km3net/simulate/plain_slices.hpp"
#include "km3net/trigger/slice_trigger.hpp"

/// Coincidences and events of a slice, found a second time: no code is shared with the trigger.
namespace anello::km3net {

struct PlainHit {
    std::int64_t time;  ///< calibrated, 1/16 ns
    std::uint32_t channel, tot_ns, raw_ns;
    auto operator<=>(const PlainHit&) const = default;
};

struct PlainL1 {
    std::int64_t time;
    std::uint32_t dom;
    std::vector<PlainHit> hits;
};

struct PlainEvent {
    std::int64_t begin, end;
    std::uint32_t n_hits, n_doms, n_overlays, mask;
    std::set<std::size_t> members;  ///< indices in the list of L1 by time
};

/// What a correct trigger makes of a slice.
struct PlainDecision {
    struct DomPart {
        bool is_used = false;
        std::vector<PlainHit> hits;  ///< sorted
        std::array<std::uint32_t, n_pmts> n_by_pmt{};
    };
    PlainSlice slice;
    std::vector<DomPart> doms;
    std::vector<PlainL1> l1, l1_by_time;  ///< the first by DOM, and by time within a DOM
    std::vector<PlainEvent> events;
};

class PlainTrigger {
  public:
    PlainTrigger(const SliceTriggerConfig& config, bool has_trailers, std::span<const Dom> doms);

    PlainDecision decide(const PlainSlice& slice);
    /// After the node has ended: compares the trigger's counters.
    void end(const CounterPage& page, std::vector<std::string>& wrong) const;
    /// Compares an event as the trigger offers it with the one that it should be.
    void compare(const EventSample& sample, const PlainDecision& decision, const PlainEvent& event,
                 std::vector<std::string>& wrong) const;
    const SliceTriggerConfig& config() const noexcept { return config_; }
    std::span<const Dom> doms() const noexcept { return doms_; }
    /// Hits from some time before the event to some time after it, by DOM.
    std::vector<std::vector<PlainHit>> around(const PlainDecision& decision, const PlainEvent& event) const;

  private:
    using Counts = std::array<std::uint64_t, static_cast<std::size_t>(TriggerCounter::count)>;
    struct Window {
        std::int64_t least, most;
    };

    void look_at(const PlainFrame& frame, std::uint32_t dom, PlainDecision& decision);
    TriggerCounter read(const PlainFrame& frame, std::uint32_t dom, PlainDecision::DomPart& part);
    void find_coincidences(const PlainDecision::DomPart& part, std::uint32_t dom, PlainDecision& decision);
    void find_events(PlainDecision& decision);
    std::set<std::size_t> neighbours(const std::vector<PlainL1>& l1, std::size_t first) const;
    std::set<std::size_t> core(const std::vector<PlainL1>& l1, std::set<std::size_t> near) const;
    std::optional<PlainEvent> event_of(const std::vector<PlainL1>& l1, std::size_t first) const;
    bool has_hits(const EventSample& sample, const PlainDecision& decision, const PlainEvent& event) const;
    bool is_causal(const PlainL1& a, const PlainL1& b) const;
    Window window_of(const Dom& a, const Dom& b) const;
    void add(TriggerCounter counter, std::uint64_t n = 1) { counts_[static_cast<std::size_t>(counter)] += n; }

    const SliceTriggerConfig config_;
    const bool has_trailers_;
    const std::vector<Dom> doms_;
    std::vector<std::vector<Window>> windows_;
    std::int64_t longest_ = 0;  ///< the longest window of all
    Counts counts_{};
};

}  // namespace anello::km3net

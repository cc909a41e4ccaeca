// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/counters/event_slot.hpp"
#include "core/latency/latency_leg.hpp"
#include "core/latency/latency_series.hpp"
#include "km3net/messages/message_store.hpp"
#include "km3net/slices/slice.hpp"
#include "km3net/trigger/coincidences.hpp"
#include "km3net/trigger/event_finder.hpp"
#include "km3net/trigger/trigger_counters.hpp"
#include "pipeline/stage.hpp"

namespace anello::km3net {

struct SliceTriggerConfig {
    double l1_ns = 25, l2_ns = 10;
    double l2_cos_min = 0;       ///< of the angle between two PMTs
    bool different_pmts = true;  ///< an L1 needs two
    std::uint32_t sn_pmts = 4;   ///< of one DOM within l2_ns: the supernova stream
    double snapshot_ns = 1000;   ///< hits shown before and behind an event
    EventFinderConfig events;
};

/// An event for the display: its L0 hits, the first ones.
struct EventSample {
    static constexpr std::uint32_t max_hits = 512;
    std::uint64_t slice;
    EventSpan span;
    std::uint32_t n_hits;
    std::array<std::uint16_t, max_hits> dom;
    std::array<std::uint8_t, max_hits> channel, tot_ns, is_l1;
    std::array<float, max_hits> time_ns;  ///< from the event's first L1 hit
};

/// The stage trigger: L1, L2 and supernova coincidences of each DOM, events of several DOMs.
class SliceTrigger {
  public:
    /// store: where messages go; null: nowhere. Counters: "trigger". Slices, store and clock must outlive it. Throws
    /// ConfigError.
    SliceTrigger(const SliceTriggerConfig& config, std::span<const Dom> doms, SliceStore& slices, MessageStore* store,
                 const Clock& clock, CounterPage& page);

    /// Has drained when it has looked at all slices that were passed on.
    pipeline::Stage stage();
    /// Control thread: an event that was offered.
    bool try_take(EventSample& sample) noexcept { return samples_.try_take(sample); }

    // Once the thread has ended.
    const std::vector<std::array<std::uint64_t, n_pmts>>& hits_by_pmt() const noexcept { return hits_by_pmt_; }
    /// L1 of exactly two PMTs, [i][k] with i < k, of all DOMs.
    const std::array<std::array<std::uint64_t, n_pmts>, n_pmts>& pairs() const noexcept { return pairs_; }

  private:
    std::size_t work() noexcept;
    void look_at(std::uint32_t buffer) noexcept;
    void look_at_frame(std::uint32_t buffer, std::uint32_t dom) noexcept;
    void count_coincidences(std::uint32_t dom) noexcept;
    void note_l1(std::uint32_t dom, const Coincidence& found) noexcept;
    void find_events(const Slice& slice) noexcept;
    void offer(std::uint64_t slice, const EventSpan& event) noexcept;
    void add_hits(EventSample& sample, std::uint32_t dom) const noexcept;

    const SliceTriggerConfig config_;
    const std::vector<Dom> doms_;
    SliceStore& slices_;
    MessageStore* const store_;
    const Clock& clock_;
    Counters<TriggerCounter> counters_;
    std::vector<CalibratedHits> hits_;  ///< by DOM, of the slice looked at
    std::vector<bool> is_used_;
    EventFinder finder_;
    std::vector<L1Hit> l1_;
    memory::SpscRing<EventSample> samples_;
    std::unique_ptr<EventSample> sample_ = std::make_unique<EventSample>();
    std::vector<std::array<std::uint64_t, n_pmts>> hits_by_pmt_;
    std::array<std::array<std::uint64_t, n_pmts>, n_pmts> pairs_{};
    LatencyLeg &opened_to_built_, &built_to_decided_, &opened_to_decided_, &last_to_decided_;  ///< in the page
    LatencySeries last_to_decided_over_time_;
    EventSlot& event_slot_;  ///< in the page
};

}  // namespace anello::km3net

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
    double l2_cos_min = 0;       ///< smallest cosine of the angle between the two PMTs of an L2
    bool different_pmts = true;  ///< an L1 needs hits on two PMTs
    std::uint32_t sn_pmts = 4;   ///< PMTs of one DOM within l2_ns for the supernova stream
    double snapshot_ns = 1000;   ///< time before and after an event whose hits are in its snapshot
    EventFinderConfig events;
};

/// An event for the display, with its first max_hits L0 hits.
struct EventSample {
    static constexpr std::uint32_t max_hits = 512;
    std::uint64_t slice;
    EventSpan span;
    std::uint32_t n_hits;
    std::array<std::uint16_t, max_hits> dom;
    std::array<std::uint8_t, max_hits> channel, tot_ns, is_l1;
    std::array<float, max_hits> time_ns;  ///< from the event's first L1 hit
};

/// The stage trigger finds L1, L2 and supernova coincidences in each DOM, and events of several DOMs.
class SliceTrigger {
  public:
    /// `store` takes the messages; null: none are written. Counters: "trigger". Slices, store and clock must outlive
    /// the trigger. Throws ConfigError.
    SliceTrigger(const SliceTriggerConfig& config, std::span<const Dom> doms, SliceStore& slices, MessageStore* store,
                 const Clock& clock, CounterPage& page);

    /// The stage has drained when it has processed all slices that were passed on.
    pipeline::Stage stage();
    /// The control thread takes an event that the trigger offered for display.
    bool try_take(EventSample& sample) noexcept { return samples_.try_take(sample); }
    const Counters<TriggerCounter>& counters() const noexcept { return counters_; }  ///< Any thread may call this.

    // Call these only after the thread has ended.
    const std::vector<std::array<std::uint64_t, n_pmts>>& hits_by_pmt() const noexcept { return hits_by_pmt_; }
    /// Number of L1 of exactly two PMTs, [i][k] with i < k, summed over all DOMs.
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
    std::vector<CalibratedHits> hits_;  ///< by DOM, of the current slice
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

// SPDX-License-Identifier: Apache-2.0
#include "km3net/trigger/slice_trigger.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>

namespace anello::km3net {
namespace {

constexpr std::uint32_t max_l1 = 65'536;  // of a slice; 2070 DOMs at 1.8 kHz have 373,000, and need several machines
constexpr std::uint32_t n_samples = 64;

std::int64_t units(double ns) noexcept {
    return std::llround(ns * PackedHit::units_per_ns);
}
static_assert(offsetof(EventSample, span) == 8 && offsetof(EventSample, n_hits) == 48 &&
                  offsetof(EventSample, dom) == 52 && offsetof(EventSample, time_ns) == 2612 &&
                  sizeof(EventSample) == 4664,
              "last_event.py reads it so");

}  // namespace

SliceTrigger::SliceTrigger(const SliceTriggerConfig& config, std::span<const Dom> doms, SliceStore& slices,
                           MessageStore* store, const Clock& clock, CounterPage& page)
    : config_(config),
      doms_(doms.begin(), doms.end()),
      slices_(slices),
      store_(store),
      clock_(clock),
      counters_(page.add_block<TriggerCounter>("trigger")),
      is_used_(doms.size()),
      finder_(config.events, doms, max_l1),
      samples_(n_samples),
      hits_by_pmt_(doms.size()),
      opened_to_built_(page.add_leg("opened_to_built")),
      built_to_decided_(page.add_leg("built_to_decided")),
      opened_to_decided_(page.add_leg("opened_to_decided")),
      last_to_decided_(page.add_leg("last_to_decided")),
      event_slot_(page.event()) {
    for (std::size_t i = 0; i < doms.size(); ++i) hits_.emplace_back(slices.config().max_hits);
    l1_.reserve(max_l1);
}

pipeline::Stage SliceTrigger::stage() {
    return {
        .name = "trigger",
        .do_work = [this](std::uint32_t) { return work(); },
        .has_input = [this](std::uint32_t) { return slices_.has_slices(); },
        .longest_wait_ns = [this](std::uint32_t) { return slices_.has_slices() ? usual_wait_ns : longest_idle_ns; },
        .is_drained = [this] { return counters_[TriggerCounter::slices] == slices_.n_passed_on(); },
        .add_latency =
            [this](pipeline::Latencies& latency) {
                latency["opened_to_built"] = &opened_to_built_.run();
                latency["built_to_decided"] = &built_to_decided_.run();
                latency["opened_to_decided"] = &opened_to_decided_.run();
                latency["last_to_decided"] = &last_to_decided_.run();
            },
        .add_latency_over_time =
            [this](pipeline::LatenciesOverTime& latency) { latency["last_to_decided"] = &last_to_decided_over_time_; }};
}

// Hot path from here on: no allocation (all is reserved), no lock, no log, no throw.
std::size_t SliceTrigger::work() noexcept {
    std::uint32_t buffer = 0;
    if (store_ != nullptr && !store_->has_room()) return 0;
    if (!slices_.try_take(buffer)) return 0;
    look_at(buffer);
    const Slice& slice = slices_.slice(buffer);
    const Nanoseconds now_ns = clock_.wall_ns();
    opened_to_built_.record(now_ns, slice.built_wall_ns - slice.opened_wall_ns);
    built_to_decided_.record(now_ns, now_ns - slice.built_wall_ns);
    opened_to_decided_.record(now_ns, now_ns - slice.opened_wall_ns);
    last_to_decided_.record(now_ns, now_ns - slice.last_wall_ns);
    last_to_decided_over_time_.record(now_ns, now_ns - slice.last_wall_ns);
    slices_.buffers().give_back(buffer);
    counters_.add(TriggerCounter::slices);
    return 1;
}

void SliceTrigger::look_at(std::uint32_t buffer) noexcept {
    const Slice& slice = slices_.slice(buffer);
    l1_.clear();
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom) {
        is_used_[dom] = false;
        if (!slice.frames[dom].is_absent()) look_at_frame(buffer, dom);
    }
    if (store_ != nullptr) store_->write(slice, {doms_, slice.frames, hits_, is_used_}, l1_);
    std::ranges::sort(l1_, {}, &L1Hit::time);
    find_events(slice);
    if (store_ != nullptr) store_->hand_over();
}

void SliceTrigger::look_at_frame(std::uint32_t buffer, std::uint32_t dom) noexcept {
    const Frame& frame = slices_.slice(buffer).frames[dom];
    const FrameFate fate = frame.is_complete(slices_.config().has_trailers)
                               ? hits_[dom].fill(frame, slices_.hits(buffer, dom), doms_[dom].t0_ns)
                               : FrameFate::incomplete;
    if (fate != FrameFate::used) {
        counters_.add(fate == FrameFate::incomplete     ? TriggerCounter::frames_incomplete
                      : fate == FrameFate::out_of_range ? TriggerCounter::frames_out_of_range
                                                        : TriggerCounter::frames_out_of_order);
        counters_.add(TriggerCounter::hits_rejected, frame.n_hits);
        return;
    }
    is_used_[dom] = true;
    counters_.add(TriggerCounter::frames_used);
    counters_.add(TriggerCounter::hits_used, hits_[dom].hits().size());
    counters_.add(TriggerCounter::hits_continued, hits_[dom].n_continued());
    for (std::uint32_t pmt = 0; pmt < n_pmts; ++pmt) hits_by_pmt_[dom][pmt] += hits_[dom].n_by_pmt()[pmt];
    count_coincidences(dom);
}

void SliceTrigger::count_coincidences(std::uint32_t dom) noexcept {
    const std::span<const PackedHit> hits = hits_[dom].hits();
    const std::int64_t l1 = units(config_.l1_ns), l2 = units(config_.l2_ns);
    const auto is_any = [](const Coincidence&) { return true; };
    const auto is_different = [](const Coincidence& found) { return found.n_pmts() > 1; };
    const auto is_near = [this](const Coincidence& found) { return has_near_pair(found, config_.l2_cos_min); };
    const auto is_sn = [this](const Coincidence& found) { return found.n_pmts() >= config_.sn_pmts; };
    for_each_coincidence(hits, l1, is_different, [&](const Coincidence& found) {
        counters_.add(TriggerCounter::l1_different_pmts);
        if (found.n_pmts() == 2)
            ++pairs_[static_cast<std::size_t>(std::countr_zero(found.pmts))]
                    [static_cast<std::size_t>(std::bit_width(found.pmts) - 1)];
        if (config_.different_pmts) note_l1(dom, found);
    });
    for_each_coincidence(hits, l1, is_any, [&](const Coincidence& found) {
        counters_.add(TriggerCounter::l1_any_pmts);
        if (!config_.different_pmts) note_l1(dom, found);
    });
    for_each_coincidence(hits, l2, is_near, [&](const Coincidence&) { counters_.add(TriggerCounter::l2); });
    for_each_coincidence(hits, l2, is_sn, [&](const Coincidence&) { counters_.add(TriggerCounter::supernova); });
}

void SliceTrigger::note_l1(std::uint32_t dom, const Coincidence& found) noexcept {
    if (l1_.size() == max_l1) return counters_.add(TriggerCounter::l1_not_looked_at);
    l1_.push_back({found.hits.front().time(), dom, found.hits});
}

void SliceTrigger::find_events(const Slice& slice) noexcept {
    const std::span<const EventSpan> events = finder_.find(l1_);
    for (std::size_t i = 0; i < events.size(); ++i) {
        const EventSpan& event = events[i];
        counters_.add(TriggerCounter::events);
        counters_.add(TriggerCounter::events_overlaid, event.n_overlays);
        if ((event.mask & EventSpan::over_limit) != 0) counters_.add(TriggerCounter::events_over_limit);
        offer(slice.number, event);
        if (store_ != nullptr)
            store_->add_event({doms_, slice.frames, hits_, is_used_},
                              {event, finder_.members(i), l1_, units(config_.snapshot_ns)});
    }
}

void SliceTrigger::offer(std::uint64_t slice, const EventSpan& event) noexcept {
    sample_->slice = slice;
    sample_->span = event;
    sample_->n_hits = 0;
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom)
        if (is_used_[dom]) add_hits(*sample_, dom);
    const Nanoseconds now_ns = clock_.wall_ns();
    if (event_slot_.wants(now_ns)) event_slot_.put("km3net", now_ns, std::as_bytes(std::span(sample_.get(), 1)));
    if (!samples_.try_give(*sample_)) counters_.add(TriggerCounter::samples_dropped);
}

void SliceTrigger::add_hits(EventSample& sample, std::uint32_t dom) const noexcept {
    const std::span<const PackedHit> hits = hits_[dom].hits();
    const std::int64_t around = units(config_.snapshot_ns), window = units(config_.l1_ns);
    for (const PackedHit& hit : hits_[dom].between(sample.span.begin - around, sample.span.end + around)) {
        if (sample.n_hits == EventSample::max_hits) return;
        const std::uint32_t i = sample.n_hits++;
        const auto first = static_cast<std::size_t>(&hit - hits.data());
        sample.dom[i] = static_cast<std::uint16_t>(dom);
        sample.channel[i] = static_cast<std::uint8_t>(hit.channel());
        sample.tot_ns[i] = static_cast<std::uint8_t>(hit.tot_ns());
        sample.is_l1[i] = coincidence_at(hits, first, window).n_pmts() > 1 ? 1 : 0;
        sample.time_ns[i] = static_cast<float>(hit.time() - sample.span.begin) / 16;
    }
}

}  // namespace anello::km3net

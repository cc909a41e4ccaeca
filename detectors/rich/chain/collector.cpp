// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/collector.hpp"

#include <algorithm>
#include <span>

#include "core/assert.hpp"
#include "source/selection.hpp"

namespace anello::rich {
namespace {

constexpr std::uint32_t max_counted_rings = 5;
static_assert(offsetof(EventSnapshot, n_hits) == 8 && offsetof(EventSnapshot, rings.ring) == 16 &&
                  offsetof(EventSnapshot, hit_id) == 144 && offsetof(EventSnapshot, hit_time_fine) == 400 &&
                  sizeof(EventSnapshot) == 656,
              "last_event.py reads it so");

}  // namespace

Collector::Collector(TriggerPool& pool, memory::PersistentBuffers& batches, PrimitiveEmitter* emitter,
                     DecisionPublisher* publisher, DecisionWriter* writer, std::uint32_t snapshot_prescale_log2,
                     Nanoseconds deadline_ns, const Clock& clock, CounterPage& page)
    : pool_(pool),
      batches_(batches),
      emitter_(emitter),
      publisher_(publisher),
      writer_(writer),
      snapshot_prescale_log2_(snapshot_prescale_log2),
      deadline_ns_(deadline_ns),
      clock_(clock),
      counters_(page.add_block<TriggerCounter>("trigger")),
      latency_(page),
      event_slot_(page.event()),
      to_publish_(batches.n_buffers()) {}

std::size_t Collector::emit_work() noexcept {
    std::size_t n_done = emitter_ == nullptr ? 0 : emitter_->do_work();
    if (writer_ != nullptr && !writer_->has_room(pool_.max_events())) return n_done;
    Decided decided{};
    if (!pool_.try_take(decided)) return n_done;
    const DecisionBatch view = pool_.view(decided);
    if (emitter_ != nullptr) emitter_->give(view);
    const Nanoseconds emitted_ns = emitter_ != nullptr ? clock_.wall_ns() : 0;
    latency_.record(view, emitted_ns);
    account(decided, view);
    if (deadline_ns_ > 0) count_late(view, emitted_ns != 0 ? emitted_ns : view.decided_ns);
    lay_aside(decided, view);
    if (view.end_of_burst) n_bursts_ended_.fetch_add(1, std::memory_order_release);  // pairs with n_bursts_ended()
    if (writer_ != nullptr) writer_->take(view);
    if (publisher_ == nullptr) {
        give_back(decided);
    } else {
        [[maybe_unused]] const bool given = to_publish_.try_give(decided);
        ANELLO_ASSERT(given);  // the ring has a place for each buffer
    }
    return n_done + 1;
}

std::size_t Collector::publish_work() noexcept {
    if (!holds_one_ && !to_publish_.try_take(held_)) return 0;
    holds_one_ = !publisher_->try_publish(pool_.view(held_));
    if (holds_one_) return 0;
    give_back(held_);
    return 1;
}

/// One thread calls this: the publish stage's if there is a publisher, otherwise the emit stage's.
void Collector::give_back(const Decided& decided) noexcept {
    batches_.give_back(decided.batch.buffer);
    n_given_back_.fetch_add(1, std::memory_order_release);  // pairs with n_batches_given_back()
}

void Collector::account(const Decided& decided, const DecisionBatch& view) noexcept {
    counters_.add(TriggerCounter::batches);
    counters_.add(TriggerCounter::events, view.n_events);
    counters_.add(TriggerCounter::hits_in_time, decided.outcome.n_hits_in_time);
    counters_.add(TriggerCounter::hits_out_of_time, decided.outcome.n_hits_out_of_time);
    counters_.add(TriggerCounter::hits_unknown, decided.outcome.n_hits_unknown);
    counters_.add(TriggerCounter::rings_dropped, decided.outcome.n_rings_dropped);
    count_plugin_faults(decided.outcome.plugin);
    using Device = Decider::Device;
    counters_.add(TriggerCounter::cuda_batches, decided.outcome.device == Device::used ? 1 : 0);
    counters_.add(TriggerCounter::cuda_failures, decided.outcome.device == Device::failed ? 1 : 0);
    count_effort(decided, view.n_events);
    if (decided.outcome.effort != Effort::pass) count_rings(view);
    count_primitives(view);
}

void Collector::count_effort(const Decided& decided, std::uint32_t n_events) noexcept {
    constexpr std::array counted{TriggerCounter::events_in_full, TriggerCounter::events_cheaper,
                                 TriggerCounter::events_passed};
    counters_.add(counted[static_cast<std::size_t>(decided.outcome.effort)], n_events);
    counters_.add(TriggerCounter::hits_passed, decided.outcome.n_hits_passed);
}

/// Counts events decided later than deadline_ns_ after they happened or, if that is not known, after they were sent.
void Collector::count_late(const DecisionBatch& view, Nanoseconds done_ns) noexcept {
    std::uint64_t n_late = 0;
    for (std::uint32_t event = 0; event < view.n_events; ++event) {
        const Nanoseconds from_ns = begin_ns(view, event);
        n_late += from_ns != 0 && done_ns - from_ns > deadline_ns_ ? 1U : 0U;
    }
    counters_.add(TriggerCounter::deadline_misses, n_late);
}

void Collector::count_primitives(const DecisionBatch& view) noexcept {
    counters_.add(TriggerCounter::primitives,
                  static_cast<std::uint64_t>(std::count_if(view.primitive_id, view.primitive_id + view.n_events,
                                                           [](std::uint16_t id) { return id != 0; })));
}

void Collector::count_plugin_faults(const PluginFaults& faults) noexcept {
    counters_.add(TriggerCounter::plugin_failed_batches, faults.n_failed_batches);
    counters_.add(TriggerCounter::plugin_invalid_counts, faults.n_invalid_counts);
    counters_.add(TriggerCounter::plugin_invalid_rings, faults.n_invalid_rings);
    counters_.add(TriggerCounter::plugin_invalid_primitives, faults.n_invalid_primitives);
}

void Collector::count_rings(const DecisionBatch& view) noexcept {
    std::array<std::uint64_t, max_counted_rings + 1> n_events_with{};
    std::uint64_t n_rings = 0, n_hits_truncated = 0, n_rings_truncated = 0, n_cut = 0;
    for (std::uint32_t event = 0; event < view.n_events; ++event) {
        const EventRings& found = view.rings[event];
        ++n_events_with[std::min<std::uint32_t>(found.n_rings, max_counted_rings)];
        n_rings += found.n_rings;
        n_hits_truncated += (found.flags & hits_truncated) != 0 ? 1U : 0U;
        n_rings_truncated += (found.flags & rings_truncated) != 0 ? 1U : 0U;
        n_cut += (found.flags & search_cut) != 0 ? 1U : 0U;
    }
    const auto first = static_cast<std::uint8_t>(TriggerCounter::events_with_0_rings);
    for (std::uint8_t k = 0; k <= max_counted_rings; ++k)
        counters_.add(static_cast<TriggerCounter>(first + k), n_events_with[k]);
    counters_.add(TriggerCounter::rings, n_rings);
    counters_.add(TriggerCounter::events_hits_truncated, n_hits_truncated);
    counters_.add(TriggerCounter::events_rings_truncated, n_rings_truncated);
    counters_.add(TriggerCounter::events_search_cut, n_cut);
}

void Collector::lay_aside(const Decided& decided, const DecisionBatch& view) noexcept {
    executions_.try_give({view.n_events, decided.batch.build_cpu_ns, decided.trigger_ns});  // a full ring drops it
    if (view.n_events > 0 && event_slot_.wants(view.decided_ns)) show_event(decided, view);
    if (snapshots_->size() == snapshots_->capacity()) return;
    for (std::uint32_t event = 0; event < view.n_events; ++event)
        if (source::selected(view.event_key[event], snapshot_prescale_log2_))
            return void(snapshots_->try_give(snapshot_of(decided, view, event)));
}

/// Shows the batch's first event with rings, or its first event if none has rings.
void Collector::show_event(const Decided& decided, const DecisionBatch& view) noexcept {
    const auto* const end = view.rings + view.n_events;
    const auto* const found = std::find_if(view.rings, end, [](const EventRings& rings) { return rings.n_rings > 0; });
    const auto event = static_cast<std::uint32_t>(found == end ? 0 : found - view.rings);
    const EventSnapshot snapshot = snapshot_of(decided, view, event);
    event_slot_.put("rich", view.decided_ns, std::as_bytes(std::span(&snapshot, 1)));
}

EventSnapshot Collector::snapshot_of(const Decided& decided, const DecisionBatch& view, std::uint32_t event) noexcept {
    const events::BatchColumns batch = pool_.columns(decided.batch.buffer);
    const std::uint32_t first = batch.hit_offset[event];
    EventSnapshot snapshot{};
    snapshot.event_key = view.event_key[event];
    snapshot.rings = view.rings[event];
    snapshot.n_hits = std::min(batch.hit_offset[event + 1] - first, max_snapshot_hits);
    std::copy_n(batch.hit_id + first, snapshot.n_hits, snapshot.hit_id.begin());
    std::copy_n(batch.hit_time_fine + first, snapshot.n_hits, snapshot.hit_time_fine.begin());
    return snapshot;
}

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/trigger_pool.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace anello::rich {

TriggerPool::TriggerPool(const DeciderConfig& config, std::span<const HitPosition> positions,
                         const events::BatchShape& shape, memory::PersistentBuffers& batches, std::uint32_t n_workers,
                         const Clock& clock)
    : shape_(shape),
      batches_(batches),
      deadline_(config.deadline),
      clock_(clock),
      rings_(new EventRings[std::size_t{batches.n_buffers()} * shape.max_events]()),
      primitive_id_(new std::uint16_t[std::size_t{batches.n_buffers()} * shape.max_events]()),
      quality_(config.quality ? new EventQuality[std::size_t{batches.n_buffers()} * shape.max_events]() : nullptr) {
    for (std::uint32_t i = 0; i < std::max(n_workers, 1U); ++i)
        workers_.push_back(std::make_unique<Worker>(config, positions, shape, batches.n_buffers()));
}

DecisionColumns TriggerPool::decisions(std::uint32_t buffer) noexcept {
    const std::size_t first = std::size_t{buffer} * shape_.max_events;
    return {&rings_[first], &primitive_id_[first], quality_ ? &quality_[first] : nullptr};
}

bool TriggerPool::try_give(const events::BatchCompletion& batch) noexcept {
    if (!workers_[n_given_ % workers_.size()]->todo.try_give(batch)) return false;
    ++n_given_;
    return true;
}

bool TriggerPool::has_todo() const noexcept {
    return std::ranges::any_of(workers_, [](const auto& worker) { return worker->todo.size() > 0; });
}

std::size_t TriggerPool::do_work(std::uint32_t index) noexcept {
    Worker& worker = *workers_[index];
    events::BatchCompletion batch;
    return worker.todo.try_take(batch) ? begin(worker, batch) : collect(worker, 0);
}

std::size_t TriggerPool::begin(Worker& worker, const events::BatchCompletion& batch) noexcept {
    const Nanoseconds started_ns = clock_.monotonic_ns();
    const DecisionColumns out = decisions(batch.buffer);
    const events::BatchColumns hits = columns(batch.buffer);
    const Effort effort = deadline_.effort(age_of(hits, batch.n_events, clock_.wall_ns()));
    if (worker.decider.can_send(batch.n_events, effort, out.quality)) {
        collect(worker, worker.decider.max_under_way() - 1);
        const bool is_on_device = worker.decider.send(hits, batch.n_events);
        worker.under_way.push_back({batch, started_ns, is_on_device});
        return 1;
    }
    collect(worker, 0);
    Decided decided{.batch = batch};
    decided.outcome = worker.decider.decide(hits, batch.n_events, out.rings, out.primitive_id, effort, out.quality);
    give(worker, decided, started_ns);
    return 1;
}

/// Collects the oldest batches on the device, until only `left` are on it.
std::size_t TriggerPool::collect(Worker& worker, std::size_t left) noexcept {
    std::size_t n_collected = 0;
    for (; worker.under_way.size() > left; ++n_collected) {
        const UnderWay first = worker.under_way.front();
        worker.under_way.erase(worker.under_way.begin());
        const DecisionColumns out = decisions(first.batch.buffer);
        Decided decided{.batch = first.batch};
        decided.outcome = worker.decider.collect(columns(first.batch.buffer), first.batch.n_events, first.is_on_device,
                                                 out.rings, out.primitive_id);
        give(worker, decided, first.started_ns);
    }
    return n_collected;
}

void TriggerPool::give(Worker& worker, Decided& decided, Nanoseconds started_ns) noexcept {
    decided.trigger_ns = clock_.monotonic_ns() - started_ns;
    decided.decided_ns = clock_.wall_ns();
    [[maybe_unused]] const bool given = worker.done.try_give(decided);
    ANELLO_ASSERT(given);  // the ring has a place for each buffer
}

bool TriggerPool::try_take(Decided& decided) noexcept {
    if (!workers_[n_taken_ % workers_.size()]->done.try_take(decided)) return false;
    ++n_taken_;
    return true;
}

DecisionBatch TriggerPool::view(const Decided& decided) noexcept {
    const events::BatchColumns batch = columns(decided.batch.buffer);
    const DecisionColumns out = decisions(decided.batch.buffer);
    return {.n_events = decided.batch.n_events,
            .burst_id = decided.batch.burst_id,
            .end_of_burst = decided.batch.end_of_burst,
            .event_key = batch.event_key,
            .fine_time = batch.fine_time,
            .event_flags = batch.flags,
            .primitive_id = out.primitive_id,
            .rings = out.rings,
            .sent_ns = batch.sent_ns,
            .kernel_ns = batch.kernel_ns,
            .placed_ns = batch.placed_ns,
            .built_ns = decided.batch.built_ns,
            .decided_ns = decided.decided_ns,
            .quality = out.quality,
            .burst_origin_ns = decided.batch.burst_origin_ns};
}

}  // namespace anello::rich

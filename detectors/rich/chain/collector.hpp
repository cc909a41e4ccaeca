// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/counters/counters.hpp"
#include "core/counters/event_slot.hpp"
#include "core/thread.hpp"
#include "memory/spsc_ring.hpp"
#include "publish/record_publisher.hpp"
#include "rich/chain/latency.hpp"
#include "rich/chain/samples.hpp"
#include "rich/chain/trigger_counters.hpp"
#include "rich/chain/trigger_pool.hpp"
#include "rich/decide/decision_record.hpp"
#include "rich/decide/decision_writer.hpp"
#include "rich/emit/primitive_emitter.hpp"

namespace anello::rich {

using DecisionPublisher = publish::RecordPublisher<DecisionRecord>;

/// The end of the data path: takes decisions in order of time, emits and counts them, copies those that a file stores,
/// publishes them and gives their buffers back. Slow receivers have their own threads: the file gets copies through a
/// ring, subscribers get batches through another.
class Collector {
  public:
    /// emitter, publisher and writer may be null. All must outlive the collector.
    /// deadline_ns: events decided later are counted; 0: no deadline. Snapshots are made of the events that
    /// source::selected() chooses with `snapshot_prescale_log2`.
    Collector(TriggerPool& pool, memory::PersistentBuffers& batches, PrimitiveEmitter* emitter,
              DecisionPublisher* publisher, DecisionWriter* writer, std::uint32_t snapshot_prescale_log2,
              Nanoseconds deadline_ns, const Clock& clock, CounterPage& page);

    std::size_t emit_work() noexcept;     ///< For the emit stage's thread. Returns batches emitted.
    std::size_t publish_work() noexcept;  ///< For the publish stage's thread, if any. Returns batches.

    bool has_to_publish() const noexcept { return to_publish_.size() > 0; }
    /// Longest wait of the publish stage. It is short while a batch is held, as subscribers do not report free room.
    Nanoseconds publish_wait_ns() const noexcept { return holds_one_ ? usual_wait_ns : longest_idle_ns; }
    std::uint64_t n_batches_given_back() const noexcept { return n_given_back_.load(std::memory_order_acquire); }
    std::uint32_t n_bursts_ended() const noexcept { return n_bursts_ended_.load(std::memory_order_acquire); }
    const Counters<TriggerCounter>& counters() const noexcept { return counters_; }
    const LatencyRecorder& latency() const noexcept { return latency_; }

    /// The control thread takes the samples that the data path offered.
    bool try_take(EventSnapshot& snapshot) noexcept { return snapshots_->try_take(snapshot); }
    bool try_take(ExecutionSample& sample) noexcept { return executions_.try_take(sample); }

  private:
    void account(const Decided& decided, const DecisionBatch& view) noexcept;
    void count_plugin_faults(const PluginFaults& faults) noexcept;
    void count_effort(const Decided& decided, std::uint32_t n_events) noexcept;
    void count_late(const DecisionBatch& view, Nanoseconds done_ns) noexcept;
    void count_primitives(const DecisionBatch& view) noexcept;
    void count_rings(const DecisionBatch& view) noexcept;
    void give_back(const Decided& decided) noexcept;
    void lay_aside(const Decided& decided, const DecisionBatch& view) noexcept;
    void show_event(const Decided& decided, const DecisionBatch& view) noexcept;
    EventSnapshot snapshot_of(const Decided& decided, const DecisionBatch& view, std::uint32_t event) noexcept;

    TriggerPool& pool_;
    memory::PersistentBuffers& batches_;
    PrimitiveEmitter* emitter_;
    DecisionPublisher* publisher_;
    DecisionWriter* writer_;
    std::uint32_t snapshot_prescale_log2_;
    const Nanoseconds deadline_ns_;
    const Clock& clock_;
    Counters<TriggerCounter> counters_;
    LatencyRecorder latency_;
    EventSlot& event_slot_;  ///< in the page
    memory::SpscRing<Decided> to_publish_;
    Decided held_{};  ///< taken from to_publish_ and held until subscribers have room
    bool holds_one_ = false;
    memory::SpscRing<ExecutionSample> executions_{4096};
    std::unique_ptr<memory::SpscRing<EventSnapshot>> snapshots_ = std::make_unique<memory::SpscRing<EventSnapshot>>(64);
    std::atomic<std::uint64_t> n_given_back_{0};
    std::atomic<std::uint32_t> n_bursts_ended_{0};
};

}  // namespace anello::rich

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

/// The end of the way: takes decisions in the order of time, emits them, accounts for them, copies what a file wants,
/// publishes them and gives their buffers back. What may be slow has a thread of its own: a file behind a ring of
/// copies, subscribers behind one of batches.
class Collector {
  public:
    /// emitter, publisher and writer may be null. All must outlive the collector.
    /// deadline_ns: what is done later is counted; 0: none. Snapshots are taken of events that source::selected()
    /// chooses with `snapshot_prescale_log2`.
    Collector(TriggerPool& pool, memory::PersistentBuffers& batches, PrimitiveEmitter* emitter,
              DecisionPublisher* publisher, DecisionWriter* writer, std::uint32_t snapshot_prescale_log2,
              Nanoseconds deadline_ns, const Clock& clock, CounterPage& page);

    std::size_t emit_work() noexcept;     ///< Emit stage's thread; batches emitted.
    std::size_t publish_work() noexcept;  ///< Publish stage's thread, where there is a publisher; batches published.

    bool has_to_publish() const noexcept { return to_publish_.size() > 0; }
    /// How long the publish stage may wait for that: subscribers do not tell when they have room.
    Nanoseconds publish_wait_ns() const noexcept { return holds_one_ ? usual_wait_ns : longest_idle_ns; }
    std::uint64_t n_batches_given_back() const noexcept { return n_given_back_.load(std::memory_order_acquire); }
    std::uint32_t n_bursts_ended() const noexcept { return n_bursts_ended_.load(std::memory_order_acquire); }
    const Counters<TriggerCounter>& counters() const noexcept { return counters_; }
    const LatencyRecorder& latency() const noexcept { return latency_; }

    /// Control thread: what the data path laid aside.
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
    Decided held_{};  ///< taken from to_publish_, until subscribers have room
    bool holds_one_ = false;
    memory::SpscRing<ExecutionSample> executions_{4096};
    std::unique_ptr<memory::SpscRing<EventSnapshot>> snapshots_ = std::make_unique<memory::SpscRing<EventSnapshot>>(64);
    std::atomic<std::uint64_t> n_given_back_{0};
    std::atomic<std::uint32_t> n_bursts_ended_{0};
};

}  // namespace anello::rich

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/counters.hpp"
#include "core/event_slot.hpp"
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

/// The end of the way: takes decisions in the order of time, emits them, accounts for them, publishes and stores them
/// and gives their buffers back. Two roles, so that a slow disk or subscriber cannot hold up the primitives.
class Collector {
  public:
    /// emitter, publisher and writer may be null. All must outlive the collector.
    /// deadline_ns: what is done later is counted; 0: none. Snapshots are taken of events that source::selected()
    /// chooses with `snapshot_prescale_log2`.
    Collector(TriggerPool& pool, memory::PersistentBuffers& batches, PrimitiveEmitter* emitter,
              DecisionPublisher* publisher, DecisionWriter* writer, std::uint32_t snapshot_prescale_log2,
              Nanoseconds deadline_ns, const Clock& clock, CounterPage& page);

    std::size_t emit_work() noexcept;   ///< Emit stage's thread; batches emitted.
    std::size_t store_work() noexcept;  ///< Store stage's thread; batches stored and given back.

    /// So much that its thread should be woken: a file can wait until it looks by itself, as long as there are batches
    /// for new events. Emit stage's thread.
    bool has_to_store() const noexcept {
        return to_store_.size() >= (publisher_ != nullptr ? 1 : std::max<std::size_t>(1, batches_.n_buffers() / 4));
    }
    /// How long the store stage may wait for that: subscribers do not tell when they have room.
    Nanoseconds store_wait_ns() const noexcept { return holds_one_ ? usual_wait_ns : longest_idle_ns; }
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
    memory::SpscRing<Decided> to_store_;
    Decided held_{};  ///< taken from to_store_, until subscribers have room
    bool holds_one_ = false;
    memory::SpscRing<ExecutionSample> executions_{4096};
    std::unique_ptr<memory::SpscRing<EventSnapshot>> snapshots_ = std::make_unique<memory::SpscRing<EventSnapshot>>(64);
    std::atomic<std::uint64_t> n_given_back_{0};
    std::atomic<std::uint32_t> n_bursts_ended_{0};
};

}  // namespace anello::rich

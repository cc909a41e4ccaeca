// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "events/batch_sink.hpp"
#include "events/event_batch.hpp"
#include "memory/persistent_buffers.hpp"
#include "memory/spsc_ring.hpp"
#include "rich/decide/decider.hpp"
#include "rich/decide/decision.hpp"

namespace anello::rich {

/// A decided batch on its way from the trigger to the collector.
struct Decided {
    events::BatchCompletion batch;
    Nanoseconds decided_ns;  ///< wall clock
    Nanoseconds trigger_ns;  ///< time spent deciding this batch (monotonic)
    Decider::Outcome outcome;
};

/// Memory of the decisions on one batch buffer, with one entry per event.
struct DecisionColumns {
    EventRings* rings;
    std::uint16_t* primitive_id;
    EventQuality* quality;  ///< null when no quality is computed
};

/// Distributes the trigger over worker threads. Batch k goes to worker k mod n and is collected in the same order, so
/// that decisions leave in order of time without a lock or a sort. With a device, a worker prepares a batch while the
/// device processes the one before.
class TriggerPool final : public events::BatchSink {
  public:
    TriggerPool(const DeciderConfig& config, std::span<const HitPosition> positions, const events::BatchShape& shape,
                memory::PersistentBuffers& batches, std::uint32_t n_workers, const Clock& clock);

    std::uint32_t n_workers() const noexcept { return static_cast<std::uint32_t>(workers_.size()); }
    const Decider& decider() const noexcept { return workers_.front()->decider; }  ///< of the first worker

    bool try_give(const events::BatchCompletion& batch) noexcept override;  ///< For the builder's thread.
    std::size_t do_work(std::uint32_t worker) noexcept;  ///< For the worker's thread. Returns batches begun or decided.
    bool try_take(Decided& decided) noexcept;            ///< For the collector's thread; in the order of try_give().

    bool has_todo() const noexcept;  ///< For the builder's thread: true when a worker has a batch to do.
    bool has_done(std::uint32_t worker) const noexcept { return workers_[worker]->done.size() > 0; }  ///< Worker's.

    std::uint32_t max_events() const noexcept { return shape_.max_events; }  ///< in a batch
    /// The columns of a batch that try_take() returned.
    DecisionBatch view(const Decided& decided) noexcept;
    events::BatchColumns columns(std::uint32_t buffer) noexcept {
        return events::columns_of(batches_.bytes(buffer), shape_);
    }

  private:
    struct UnderWay {
        events::BatchCompletion batch;
        Nanoseconds started_ns;
        bool is_on_device;  ///< false: the device refused the batch
    };
    struct Worker {
        Worker(const DeciderConfig& config, std::span<const HitPosition> positions, const events::BatchShape& shape,
               std::uint32_t n_buffers)
            : decider(config, positions, shape), todo(n_buffers), done(n_buffers) {
            under_way.reserve(n_buffers);
        }
        Decider decider;
        memory::SpscRing<events::BatchCompletion> todo;
        memory::SpscRing<Decided> done;
        std::vector<UnderWay> under_way;  ///< batches on a device, oldest first
    };
    std::size_t begin(Worker& worker, const events::BatchCompletion& batch) noexcept;
    std::size_t collect(Worker& worker, std::size_t left) noexcept;
    void give(Worker& worker, Decided& decided, Nanoseconds started_ns) noexcept;

    DecisionColumns decisions(std::uint32_t buffer) noexcept;

    events::BatchShape shape_;
    memory::PersistentBuffers& batches_;
    const DeadlineConfig deadline_;
    const Clock& clock_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::unique_ptr<EventRings[]> rings_;
    std::unique_ptr<std::uint16_t[]> primitive_id_;
    std::unique_ptr<EventQuality[]> quality_;
    std::uint64_t n_given_ = 0;  ///< used by the builder's thread
    std::uint64_t n_taken_ = 0;  ///< used by the collector's thread
};

}  // namespace anello::rich

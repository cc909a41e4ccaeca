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

/// A batch on its way from the trigger to the collector.
struct Decided {
    events::BatchCompletion batch;
    Nanoseconds decided_ns;  ///< wall clock
    Nanoseconds trigger_ns;  ///< time spent deciding this batch (monotonic)
    Decider::Outcome outcome;
};

/// Where decisions lie: beside each batch buffer, one slot per event.
struct DecisionColumns {
    EventRings* rings;
    std::uint16_t* primitive_id;
    EventQuality* quality;  ///< null: nobody asked
};

/// The trigger spread over worker threads. Batch k goes to worker k mod n and is collected in the same turn, so that
/// decisions leave in the order of time without a lock or a sort. Where a device decides, a worker prepares a batch
/// while the device is at the one before.
class TriggerPool final : public events::BatchSink {
  public:
    TriggerPool(const DeciderConfig& config, std::span<const HitPosition> positions, const events::BatchShape& shape,
                memory::PersistentBuffers& batches, std::uint32_t n_workers, const Clock& clock);

    std::uint32_t n_workers() const noexcept { return static_cast<std::uint32_t>(workers_.size()); }
    const Decider& decider() const noexcept { return workers_.front()->decider; }  ///< one of them

    bool try_give(const events::BatchCompletion& batch) noexcept override;  ///< Builder's thread.
    std::size_t do_work(std::uint32_t worker) noexcept;  ///< Worker's thread; batches begun or decided.
    bool try_take(Decided& decided) noexcept;            ///< Collector's thread; in the order given.

    bool has_todo() const noexcept;  ///< Builder's thread: a worker has something to do.
    bool has_done(std::uint32_t worker) const noexcept { return workers_[worker]->done.size() > 0; }  ///< Its thread.

    std::uint32_t max_events() const noexcept { return shape_.max_events; }  ///< of a batch
    /// The columns of a batch that try_take() returned.
    DecisionBatch view(const Decided& decided) noexcept;
    events::BatchColumns columns(std::uint32_t buffer) noexcept {
        return events::columns_of(batches_.bytes(buffer), shape_);
    }

  private:
    struct UnderWay {
        events::BatchCompletion batch;
        Nanoseconds started_ns;
        bool is_on_device;  ///< else it was refused
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
        std::vector<UnderWay> under_way;  ///< on a device, the first first
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
    std::uint64_t n_given_ = 0;  ///< builder's
    std::uint64_t n_taken_ = 0;  ///< collector's
};

}  // namespace anello::rich

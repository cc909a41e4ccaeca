// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>

#include "core/latency/histogram.hpp"
#include "pipeline/stage.hpp"
#include "rich/chain/collector.hpp"
#include "rich/chain/node_config.hpp"
#include "rich/chain/trigger_pool.hpp"
#include "rich/emit/primitive_listener.hpp"
#include "rich/emit/udp_sink.hpp"

namespace anello::rich {

/// From batches of the RICH's events to decisions: the stages trigger, emit, publish (if there are subscribers) and
/// store. It does not depend on what builds the events.
class RichDecisions {
  public:
    /// Counters: "trigger", "listener", "emit", "store", and those of config.publish. The clock must outlive the
    /// object. Throws ConfigError, SystemError.
    RichDecisions(const NodeConfig& config, const Clock& clock, CounterPage& page);

    memory::PersistentBuffers& batches() noexcept { return batches_; }
    TriggerPool& pool() noexcept { return pool_; }  ///< takes the batches that were built
    Collector& collector() noexcept { return *collector_; }
    const Collector& collector() const noexcept { return *collector_; }
    /// True when all batches built so far were decided, emitted and published, and their memory was given back.
    bool has_decided(std::uint64_t n_batches_built) const noexcept {
        return collector_->n_batches_given_back() == n_batches_built;
    }

    /// The stages, with the listener's if there is one. is_drained: true when nothing more is built and all is decided.
    std::vector<pipeline::Stage> stages(std::function<bool()> is_drained);

  private:
    void make_emitter(const Clock& clock, CounterPage& page);
    std::unique_ptr<DatagramSink> make_udp_sink(const Clock& clock, CounterPage& page);
    void make_writer(CounterPage& page);
    pipeline::Stage trigger_stage();
    pipeline::Stage emit_stage();
    pipeline::Stage publish_stage();
    pipeline::Stage store_stage();
    std::size_t store_work() noexcept;
    bool has_stored() const noexcept { return writer_ == nullptr || writer_->is_idle(); }
    void close_store();
    void add_trigger_notices(pipeline::Notices& notices);
    void add_deadline_notices(pipeline::Notices& notices);
    void add_store_states(pipeline::States& states);
    void add_store_notices(pipeline::Notices& notices);
    void add_latency(pipeline::Latencies& latency) const;
    std::string trigger_words() const;

    static constexpr std::size_t n_trigger_faults = 5;

    NodeConfig config_;
    const Clock& clock_;
    memory::PersistentBuffers batches_;
    TriggerPool pool_;
    std::unique_ptr<PrimitiveListener> listener_;
    std::unique_ptr<DatagramSink> emit_sink_;
    std::unique_ptr<PrimitiveEmitter> emitter_;
    std::unique_ptr<DecisionPublisher> publisher_;
    std::unique_ptr<DecisionWriter> writer_;
    std::unique_ptr<Collector> collector_;
    std::array<pipeline::FaultNotice, n_trigger_faults> faults_;
    pipeline::FaultNotice degraded_;
    std::string store_error_;
    bool has_ended_ = false;
};

}  // namespace anello::rich

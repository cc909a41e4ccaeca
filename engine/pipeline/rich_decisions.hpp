// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>

#include "core/histogram.hpp"
#include "emit/primitive_listener.hpp"
#include "emit/udp_sink.hpp"
#include "pipeline/collector.hpp"
#include "pipeline/node_config.hpp"
#include "pipeline/stage.hpp"
#include "pipeline/trigger_pool.hpp"

namespace anello::pipeline {

/// From batches of the RICH's events to decisions: the stages trigger, emit and store, whatever builds the events.
class RichDecisions {
  public:
    /// Counters: "trigger", "listener", "emit", "store", and those of config.publish. The clock must outlive it. Throws
    /// ConfigError, SystemError.
    RichDecisions(const NodeConfig& config, const Clock& clock, CounterPage& page);

    memory::PersistentBuffers& batches() noexcept { return batches_; }
    TriggerPool& pool() noexcept { return pool_; }  ///< takes what was built
    Collector& collector() noexcept { return *collector_; }
    const Collector& collector() const noexcept { return *collector_; }
    /// All that was built so far has been decided, and its memory given back.
    bool has_decided(std::uint64_t n_batches_built) const noexcept {
        return collector_->n_batches_given_back() == n_batches_built;
    }

    /// Trigger, emit and store, and the listener where there is one. is_drained: nothing more is built, and all of it
    /// has been decided.
    std::vector<Stage> stages(std::function<bool()> is_drained);

  private:
    void make_emitter(const Clock& clock, CounterPage& page);
    void make_writer(CounterPage& page);
    Stage trigger_stage();
    Stage emit_stage();
    Stage store_stage();
    void close_store();
    void add_trigger_notices(Notices& notices);
    void add_store_notices(Notices& notices);
    void add_latency(Latencies& latency) const;
    std::string trigger_words() const;

    static constexpr std::size_t n_trigger_faults = 5;

    NodeConfig config_;
    memory::PersistentBuffers batches_;
    TriggerPool pool_;
    std::unique_ptr<emit::PrimitiveListener> listener_;
    std::unique_ptr<emit::UdpSink> emit_sink_;
    std::unique_ptr<emit::PrimitiveEmitter> emitter_;
    std::unique_ptr<DecisionPublisher> publisher_;
    std::unique_ptr<store::DecisionWriter> writer_;
    std::unique_ptr<Collector> collector_;
    std::array<FaultNotice, n_trigger_faults> faults_;
    std::string store_error_;
    bool has_ended_ = false;
};

}  // namespace anello::pipeline

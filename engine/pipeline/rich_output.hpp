// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/thread.hpp"
#include "emit/primitive_listener.hpp"
#include "emit/udp_sink.hpp"
#include "exchange/mep_merger.hpp"
#include "pipeline/collector.hpp"
#include "pipeline/exchange_ends.hpp"
#include "pipeline/node_config.hpp"
#include "pipeline/trigger_pool.hpp"

namespace anello::pipeline {

/// The RICH behind a builder unit: a packet's frames are merged into events by the builder's thread, and decided, sent
/// and stored by the stages trigger, emit and store of the chain's layout.
class RichOutput final : public ExchangeOutput {
  public:
    /// node: of the RICH's chain; n_boards: of all readout units. Throws ConfigError, SystemError.
    RichOutput(const NodeConfig& node, const exchange::RichFrames& frames, std::uint32_t n_boards,
               const exchange::ExchangeConfig& exchange, const Clock& clock, CounterPage& page);
    ~RichOutput() override;

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override;
    void close() noexcept override;
    std::vector<std::string> notices() override;

    void start() override;
    std::map<std::string, const LatencyHistogram*> latency() const override;
    std::map<std::string, std::string> states() const override;

  private:
    void make_emitter(CounterPage& page, const Clock& clock);
    void make_writer(CounterPage& page);
    void add_thread(const std::string& name, int core, std::function<std::size_t()> do_work);
    std::size_t work(Stage stage) noexcept;
    bool is_drained() const noexcept;

    NodeConfig node_;
    memory::PersistentBuffers batches_;
    TriggerPool pool_;
    exchange::MepMerger merger_;
    std::unique_ptr<emit::PrimitiveListener> listener_;
    std::unique_ptr<emit::UdpSink> emit_sink_;
    std::unique_ptr<emit::PrimitiveEmitter> emitter_;
    std::unique_ptr<store::DecisionWriter> writer_;
    std::unique_ptr<Collector> collector_;
    std::uint32_t slot_ = 0;
    bool holds_slot_ = false;  ///< of the packet that is merged, or was
    bool is_closed_ = false;
    std::vector<std::string> lines_;
    std::vector<std::unique_ptr<WorkerThread>> threads_;  ///< last: end before what they work on
};

}  // namespace anello::pipeline

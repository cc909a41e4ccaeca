// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/thread.hpp"
#include "exchange/rich_framer.hpp"
#include "pipeline/block_intake.hpp"
#include "pipeline/exchange_ends.hpp"
#include "pipeline/node_config.hpp"
#include "receive/receiver.hpp"

namespace anello::pipeline {

/// A node's boards of the RICH before its readout unit: the stages receive and build of the chain's layout, where
/// fragments become time frames instead of events.
class RichInput final : public ExchangeInput {
  public:
    /// node: of the RICH's chain, with the ports of this node's boards; the first of them is build.first_board. Throws
    /// ConfigError, SystemError.
    RichInput(const NodeConfig& node, const exchange::RichFrames& frames, const exchange::ExchangeConfig& exchange,
              exchange::MfpRing& ring, const Clock& clock, CounterPage& page);
    ~RichInput() override;

    void start(std::function<void()> wake) override;
    void stop() override;
    std::vector<std::uint16_t> ports() const override;
    std::map<std::string, std::string> states() const override;
    std::vector<std::string> notices() override;

  private:
    enum class Phase : std::uint8_t { running, draining_receive, draining_build };

    void make_receiver(const IntakeConfig& intake, const Clock& clock, CounterPage& page);
    std::size_t work(Stage stage) noexcept;
    std::size_t receive_work() noexcept;
    bool is_drained() const noexcept;

    const NodeConfig node_;
    exchange::MfpRing& ring_;
    std::vector<std::unique_ptr<receive::BlockStream>> streams_;
    BlockIntake intake_{streams_};
    std::vector<receive::StreamCounters> stream_counters_;
    std::unique_ptr<receive::Receiver> receiver_;
    std::unique_ptr<exchange::RichFramer> framer_;
    std::function<void()> wake_;
    std::uint64_t passed_ = 0;
    std::atomic<Phase> phase_{Phase::running};
    bool started_ = false, drain_timed_out_ = false;
    std::vector<std::uint64_t> silences_, kernel_dropped_;   ///< by board, as last told
    std::vector<receive::TenfoldNotice> strangers_, ahead_;  ///< by board
    std::vector<std::unique_ptr<WorkerThread>> threads_;     ///< last: end before what they work on
};

}  // namespace anello::pipeline

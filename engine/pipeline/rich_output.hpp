// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exchange/mep_merger.hpp"
#include "pipeline/exchange_ends.hpp"
#include "pipeline/node_config.hpp"
#include "pipeline/rich_decisions.hpp"

namespace anello::pipeline {

/// The RICH behind a builder unit: a packet's frames are merged into events by the builder's thread, and decided, sent
/// and stored by the stages trigger, emit and store of the chain's layout.
class RichOutput final : public ExchangeOutput {
  public:
    /// node: of the RICH's chain; n_boards: of all readout units. Throws ConfigError, SystemError.
    RichOutput(const NodeConfig& node, const exchange::RichFrames& frames, std::uint32_t n_boards,
               const exchange::ExchangeConfig& exchange, const Clock& clock, CounterPage& page);

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override;
    ChainPart part() override;

  private:
    const NodeConfig node_;
    RichDecisions decisions_;
    exchange::MepMerger merger_;
    std::uint32_t slot_ = 0;
    bool holds_slot_ = false;  ///< of the packet that is merged, or was
};

}  // namespace anello::pipeline

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/exchange_ends.hpp"
#include "rich/chain/decisions.hpp"
#include "rich/chain/node_config.hpp"
#include "rich/farm/mep_merger.hpp"

namespace anello::rich {

/// The RICH behind a builder unit: a packet's frames are merged into events by the builder's thread, and decided, sent
/// and stored by the stages trigger, emit and store of the chain's layout.
class RichOutput final : public pipeline::ExchangeOutput {
  public:
    /// node: of the RICH's chain; n_boards: of all readout units. Throws ConfigError, SystemError.
    RichOutput(const NodeConfig& node, const RichFrames& frames, std::uint32_t n_boards,
               const exchange::ExchangeConfig& exchange, const Clock& clock, CounterPage& page);

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override;
    pipeline::ChainPart part() override;

  private:
    const NodeConfig node_;
    RichDecisions decisions_;
    MepMerger merger_;
    std::uint32_t slot_ = 0;
    bool holds_slot_ = false;  ///< of the packet that is merged, or was
};

}  // namespace anello::rich

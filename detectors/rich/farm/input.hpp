// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/exchange_ends.hpp"
#include "rich/chain/boards.hpp"
#include "rich/chain/node_config.hpp"
#include "rich/farm/framer.hpp"

namespace anello::rich {

/// A node's boards of the RICH before its readout unit: the stages receive and build of the chain's layout, where
/// fragments become time frames instead of events.
class RichInput final : public pipeline::ExchangeInput {
  public:
    /// node: of the RICH's chain, with the ports of this node's boards; the first of them is build.first_board. Throws
    /// ConfigError, SystemError.
    RichInput(const NodeConfig& node, const RichFrames& frames, const exchange::ExchangeConfig& exchange,
              exchange::MfpRing& ring, const Clock& clock, CounterPage& page);

    pipeline::ChainPart part() override;
    std::vector<std::uint16_t> ports() const override { return boards_.ports(); }

  private:
    const NodeConfig node_;
    RichBoards boards_;
    RichFramer framer_;
};

}  // namespace anello::rich

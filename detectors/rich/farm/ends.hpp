// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/exchange_ends.hpp"
#include "rich/chain/node_config.hpp"
#include "rich/farm/frames.hpp"

/// The RICH before and behind the exchange: each readout unit makes time frames of its boards' fragments, builders
/// merge those of all readout units into events, and trigger, emit and store follow as in a node by itself.
namespace anello::rich {

struct FarmConfig {
    NodeConfig node;  ///< with the ports of this node's boards; the first of them is build.first_board
    RichFrames frames;
    std::uint32_t n_boards = 1;  ///< of all readout units
};

/// Making what these make throws ConfigError, SystemError.
pipeline::MakeExchangeInput make_input(const FarmConfig& config);
pipeline::MakeExchangeOutput make_output(const FarmConfig& config);

}  // namespace anello::rich

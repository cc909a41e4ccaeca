// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/exchange_ends.hpp"
#include "rich/chain/node_config.hpp"
#include "rich/farm/frames.hpp"

/// The RICH before and after the exchange: each readout unit makes time frames of its boards' fragments, builders merge
/// the frames of all readout units into events, and trigger, emit and store follow as in a single node.
namespace anello::rich {

struct FarmConfig {
    NodeConfig node;  ///< has only the ports of this node's boards; the first one is build.first_board
    RichFrames frames;
    std::uint32_t n_boards = 1;  ///< boards of all readout units
};

/// The functions that these return throw ConfigError and SystemError.
pipeline::MakeExchangeInput make_input(const FarmConfig& config);
pipeline::MakeExchangeOutput make_output(const FarmConfig& config);

}  // namespace anello::rich

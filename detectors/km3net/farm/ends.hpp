// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "km3net/chain/node.hpp"
#include "pipeline/exchange_ends.hpp"

/// The chain before and behind the exchange: each readout unit builds slices of its neighbouring DOMs, builders lay
/// those of all readout units together, and trigger and store follow as in a node by itself.
namespace anello::km3net {

struct FarmConfig {
    NodeConfig node;                ///< with the ports and sources of this node's DOMs
    std::uint64_t first_slice = 1;  ///< slice first_slice + e is event e of the exchange
};

/// What a readout unit among n_readouts may send of `packing` slices.
std::size_t max_mfp_bytes(const FarmConfig& config, std::size_t n_readouts, std::uint32_t packing);

/// Making what these make throws ConfigError, SystemError.
pipeline::MakeExchangeInput make_input(const FarmConfig& config);
pipeline::MakeExchangeOutput make_output(const FarmConfig& config);

}  // namespace anello::km3net

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "km3net/chain/node.hpp"
#include "pipeline/exchange_ends.hpp"

/// The chain before and after the exchange: each readout unit builds slices of its neighbouring DOMs, a builder joins
/// the slices of all readout units, and trigger and store follow as in a single node.
namespace anello::km3net {

struct FarmConfig {
    NodeConfig node;                ///< has the ports and sources of this node's DOMs only
    std::uint64_t first_slice = 1;  ///< slice first_slice + e is event e of the exchange
};

/// Largest size in bytes of what one of n_readouts readout units sends for `packing` slices.
std::size_t max_mfp_bytes(const FarmConfig& config, std::size_t n_readouts, std::uint32_t packing);

/// The functions that these return throw ConfigError and SystemError.
pipeline::MakeExchangeInput make_input(const FarmConfig& config);
pipeline::MakeExchangeOutput make_output(const FarmConfig& config);

}  // namespace anello::km3net

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "camera/chain/node_config.hpp"
#include "pipeline/exchange_ends.hpp"

/// The camera before and after the exchange. Each readout unit has a group of neighbouring boards, and builds their
/// events as a single node would; builder units put the groups of all readout units together and give whole events to
/// the camera's filter.
namespace anello::camera {

/// Largest MFP in bytes that one of `n_readouts` readout units may send for `packing` events.
std::size_t camera_max_mfp_bytes(const CameraShape& shape, std::size_t n_readouts, std::uint32_t packing);

/// Returns a function that makes a node's input: sections receive and build of `config`, with the ports of this node's
/// boards. That function throws ConfigError, SystemError.
pipeline::MakeExchangeInput make_camera_input(const CameraNodeConfig& config);
/// Returns a function that makes a node's output: sections filter and send.
pipeline::MakeExchangeOutput make_camera_output(const CameraNodeConfig& config);

}  // namespace anello::camera

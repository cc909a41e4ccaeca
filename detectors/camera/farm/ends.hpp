// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "camera/chain/node_config.hpp"
#include "pipeline/exchange_ends.hpp"

/// The camera before and behind the exchange. Each readout unit has a group of neighbouring boards, and builds their
/// events as a node by itself would; builders lay the groups of all readout units side by side and give whole events to
/// the camera's filter.
namespace anello::camera {

/// What a readout unit among `n_readouts` may send of `packing` events.
std::size_t camera_max_mfp_bytes(const CameraShape& shape, std::size_t n_readouts, std::uint32_t packing);

/// The input of a node: sections receive and build of `config`, with the ports of this node's boards. Making it throws
/// ConfigError, SystemError.
pipeline::MakeExchangeInput make_camera_input(const CameraNodeConfig& config);
/// The output: sections filter and send.
pipeline::MakeExchangeOutput make_camera_output(const CameraNodeConfig& config);

}  // namespace anello::camera

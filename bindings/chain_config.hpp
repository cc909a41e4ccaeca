// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config.hpp"
#include "pipeline/camera_node_config.hpp"

/// A chain's whole configuration, flat with dotted keys, for its own node and for a farm's nodes alike.
namespace anello::bindings {

pipeline::CameraNodeConfig camera_node_config(const ConfigReader& all);

}  // namespace anello::bindings

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "fabric/fabric_config.hpp"

namespace anello::fabric {

/// A fabric over UCX: shared memory, TCP or InfiniBand, as config.ucx_tls allows. Throws ConfigError and SystemError.
std::unique_ptr<Fabric> make_ucx_fabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters);

}  // namespace anello::fabric

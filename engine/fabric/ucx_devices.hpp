// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fabric/fabric_config.hpp"

namespace anello::fabric {

/// Which transports and devices UCX may open; empty: as UCX and its environment say.
struct UcxDevices {
    std::string tls, net_devices;
};

/// Left to itself UCX listens at every interface of the machine. It gets what the configuration names; else the
/// interface of config.host and the cards for RDMA, which have no sockets; and no TCP at all where the host is loopback
/// and memory is shared anyway. Throws ConfigError where no interface has that address.
UcxDevices ucx_devices(const FabricConfig& config);

}  // namespace anello::fabric

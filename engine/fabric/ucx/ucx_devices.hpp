// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "fabric/fabric_config.hpp"

namespace anello::fabric {

/// Transports and devices that UCX may open. An empty field leaves the choice to UCX and its environment.
struct UcxDevices {
    std::string tls, net_devices;
    /// UCX_ZCOPY_THRESH. It is "inf" (always copy) where data may use the TCP of a UCX that does not survive broken
    /// connections. The copy costs up to a quarter of the bandwidth, and up to half at 1 MB.
    std::string zcopy_threshold{};
};

/// Whether this version (from ucx_version()) survives a connection that breaks while it sends from the caller's memory.
/// 1.13 ends the process, 1.22 survives; versions between them are not tested.
bool bears_broken_connections(std::uint64_t version) noexcept;

/// By default UCX listens on every interface of the machine. This gives it the devices that the configuration names;
/// otherwise the interface of config.host and the cards for RDMA, which have no sockets; and no TCP if the host is
/// loopback, as memory is shared anyway. Throws ConfigError if no interface has that address.
UcxDevices ucx_devices(const FabricConfig& config);

}  // namespace anello::fabric

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "fabric/fabric_config.hpp"

namespace anello::fabric {

/// Which transports and devices UCX may open; empty: as UCX and its environment say.
struct UcxDevices {
    std::string tls, net_devices;
    /// UCX_ZCOPY_THRESH. "inf" where data may go by the TCP of a UCX that does not bear broken connections. The copy
    /// costs a quarter of the bandwidth or less, up to half at 1 MB.
    std::string zcopy_threshold{};
};

/// False for versions (as ucx_version() says them) that end the process when a connection breaks while they send from
/// the caller's memory: 1.13 does, 1.22 does not, versions between them were not tested.
bool bears_broken_connections(std::uint64_t version) noexcept;

/// By default UCX listens at every interface of the machine. It gets what the configuration names; otherwise the
/// interface of config.host and the cards for RDMA, which have no sockets; and no TCP at all where the host is loopback
/// and memory is shared anyway. Throws ConfigError where no interface has that address.
UcxDevices ucx_devices(const FabricConfig& config);

}  // namespace anello::fabric

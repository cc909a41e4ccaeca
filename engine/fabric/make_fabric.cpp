// SPDX-License-Identifier: Apache-2.0
#include "core/errors.hpp"
#include "fabric/fabric_config.hpp"
#include "fabric/tcp/tcp_fabric.hpp"
#include "fabric/udp/udp_fabric.hpp"
#ifdef ANELLO_UCX
#include "fabric/ucx/ucx_fabric.hpp"
#endif

namespace anello::fabric {
namespace {

#ifndef ANELLO_UCX
std::unique_ptr<Fabric> make_ucx_fabric(const FabricConfig&, Listener&, const Clock&, Counters<FabricCounter>) {
    throw ConfigError("fabric.transport", "this build has no UCX", "ucx",
                      "Install libucx-dev and build anew, or choose tcp");
}
#endif

}  // namespace

std::unique_ptr<Fabric> make_fabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                    Counters<FabricCounter> counters) {
    check(config);
    switch (config.transport) {
        case Transport::ucx:
            return make_ucx_fabric(config, listener, clock, counters);
        case Transport::tcp:
            return std::make_unique<TcpFabric>(config, listener, clock, counters);
        case Transport::udp:
            return std::make_unique<UdpFabric>(config, listener, clock, counters);
    }
    throw ConfigError("fabric.transport", "must be a transport", "none", "Choose ucx, tcp or udp");
}

}  // namespace anello::fabric

// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric_config.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::fabric {
namespace {
constexpr std::size_t largest_message_bytes = std::size_t{1} << 30;

namespace fabric_table {

using C = FabricConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::transport>("transport",
                         "ucx: shared memory, InfiniBand, RoCE or TCP, whichever is best; tcp; udp, which may lose. "
                         "`anello doctor` says which of them work on this machine."),
    K::of<&C::host>("host", not_empty,
                    "Own address, at which the other nodes reach this one: where tcp, udp and the TCP of ucx listen. "
                    "With loopback ucx uses shared memory, and does not listen."),
    K::of<&C::port>("port", "Own port (tcp, udp); 0: any free one."),
    K::of<&C::ucx_tls>("ucx_tls", "UCX_TLS, such as tcp or rc,self; empty: UCX chooses."),
    K::of<&C::ucx_net_devices>("ucx_net_devices",
                               "UCX_NET_DEVICES, such as mlx5_0:1; empty: the interface of host, and cards for RDMA."),
    K::of<&C::max_message_bytes>("max_message_bytes", {4096, static_cast<double>(largest_message_bytes)},
                                 "Largest message; a readout unit's part of a multi-event packet."),
};

}  // namespace fabric_table

}  // namespace

constinit const Keys<FabricConfig> fabric_keys{"fabric", "How bytes move between nodes.", fabric_table::keys};

const char* name_of(Transport transport) noexcept {
    return word_of(transport);
}

void check(const FabricConfig& config) {
    const auto require = [](bool holds, const char* field, const char* rule, auto given, const char* remedy) {
        if (!holds) throw ConfigError(field, rule, fmt::format("{}", given), remedy);
    };
    require(config.self < config.n_peers, "self", "must be below n_peers", config.self, "Peers are numbered from 0");
    require(config.max_message_bytes > 0 && config.max_message_bytes <= largest_message_bytes,
            "fabric.max_message_bytes", "must be 1 byte to 1 GiB", config.max_message_bytes, "1 MiB suits most farms");
    require(config.max_in_flight > 0 && config.max_in_flight <= 65536, "max_in_flight", "must be 1 to 65536",
            config.max_in_flight, "64 suits most farms");
    require(config.socket_buffer_bytes <= largest_message_bytes, "socket_buffer_bytes", "must be at most 1 GiB",
            config.socket_buffer_bytes, "0 chooses what suits the transport");
    require(config.datagram_bytes >= 512 && config.datagram_bytes <= 65507, "datagram_bytes", "must be 512 to 65507",
            config.datagram_bytes, "The network's MTU less 28 is best");
    require(config.heartbeat_ns > 0, "heartbeat_ns", "must be above 0", config.heartbeat_ns,
            "A fifth of peer_timeout_ns is good");
    require(config.peer_timeout_ns > config.heartbeat_ns, "peer_timeout_ns", "must be above heartbeat_ns",
            config.peer_timeout_ns, "Five heartbeats are good");
    require(config.connect_timeout_ns > 0, "connect_timeout_ns", "must be above 0", config.connect_timeout_ns,
            "Some seconds are good");
}

}  // namespace anello::fabric

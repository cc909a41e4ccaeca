// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/errors.hpp"

namespace anello::fabric {
namespace {
constexpr std::array<const char*, 4> transport_names{"ucx", "tcp", "udp", "in_process"};
constexpr std::size_t largest_message_bytes = std::size_t{1} << 30;
}  // namespace

Transport parse_transport(const std::string& text) {
    const auto* found = std::find(transport_names.begin(), transport_names.end(), text);
    if (found == transport_names.end())
        throw ConfigError("fabric.transport", "must be ucx, tcp, udp or in_process", text, "Choose one of these");
    return static_cast<Transport>(found - transport_names.begin());
}

const char* name_of(Transport transport) noexcept {
    return transport_names.at(static_cast<std::size_t>(transport));
}

void check(const FabricConfig& config) {
    const auto require = [](bool holds, const char* field, const char* rule, auto given, const char* remedy) {
        if (!holds) throw ConfigError(field, rule, fmt::format("{}", given), remedy);
    };
    require(config.self < config.n_peers, "fabric.self", "must be below n_peers", config.self,
            "Peers are numbered from 0");
    require(config.max_message_bytes > 0 && config.max_message_bytes <= largest_message_bytes,
            "fabric.max_message_bytes", "must be 1 byte to 1 GiB", config.max_message_bytes, "1 MiB suits most farms");
    require(config.max_in_flight > 0 && config.max_in_flight <= 65536, "fabric.max_in_flight", "must be 1 to 65536",
            config.max_in_flight, "64 suits most farms");
    require(config.socket_buffer_bytes <= largest_message_bytes, "fabric.socket_buffer_bytes", "must be at most 1 GiB",
            config.socket_buffer_bytes, "0 chooses what suits the transport");
    require(config.datagram_bytes >= 512 && config.datagram_bytes <= 65507, "fabric.datagram_bytes",
            "must be 512 to 65507", config.datagram_bytes, "The network's MTU less 28 is best");
    require(config.heartbeat_ns > 0, "fabric.heartbeat_ns", "must be above 0", config.heartbeat_ns,
            "A fifth of peer_timeout_ns is good");
    require(config.peer_timeout_ns > config.heartbeat_ns, "fabric.peer_timeout_ns", "must be above heartbeat_ns",
            config.peer_timeout_ns, "Five heartbeats are good");
    require(config.connect_timeout_ns > 0, "fabric.connect_timeout_ns", "must be above 0", config.connect_timeout_ns,
            "Some seconds are good");
}

}  // namespace anello::fabric

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric_config.hpp"

namespace anello::fabric {

/// Address of a tcp or udp fabric (UCX has its own) and identity of its process: the incarnation distinguishes a
/// restarted process from the earlier one.
struct PeerAddress {
    Transport transport = Transport::tcp;
    Peer peer = 0;
    std::uint64_t farm_id = 0;
    std::uint64_t incarnation = 0;
    std::uint32_t ipv4 = 0;  ///< in network byte order, as `port`
    std::uint16_t port = 0;
    std::uint64_t max_message_bytes = 0;
    std::uint32_t max_in_flight = 0;
};

/// The result has no ipv4 and port yet.
PeerAddress make_address(const FabricConfig& config, std::uint64_t incarnation);
std::vector<std::byte> encode(const PeerAddress& address);
/// Throws ConfigError if the bytes are not the address of `peer` in the farm and transport of `config`, or if its
/// limits differ from ours.
PeerAddress decode_address(std::span<const std::byte> bytes, Peer peer, const FabricConfig& config);

/// A random number, different for each process and each fabric in it.
std::uint64_t make_incarnation();

}  // namespace anello::fabric

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric_config.hpp"

namespace anello::fabric {

/// Address of one of our fabrics (not UCX, which has its own), and which process it is: the incarnation distinguishes a
/// restarted process from the one before it.
struct PeerAddress {
    Transport transport = Transport::tcp;
    Peer peer = 0;
    std::uint64_t farm_id = 0;
    std::uint64_t incarnation = 0;
    std::uint32_t ipv4 = 0;  ///< in the order of the network, as `port`
    std::uint16_t port = 0;
    std::uint64_t max_message_bytes = 0;
    std::uint32_t max_in_flight = 0;
};

PeerAddress make_address(const FabricConfig& config, std::uint64_t incarnation);  ///< Without place in a network.
std::vector<std::byte> encode(const PeerAddress& address);
/// Throws ConfigError where the bytes are not the address of `peer` in the farm and transport of `config`, or its
/// limits are not ours.
PeerAddress decode_address(std::span<const std::byte> bytes, Peer peer, const FabricConfig& config);

/// Different for each process and each fabric in it, as far as chance goes.
std::uint64_t make_incarnation();

}  // namespace anello::fabric

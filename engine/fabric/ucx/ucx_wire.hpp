// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric_config.hpp"
#include "fabric/ucx/ucx_sockets.hpp"

/// Messages between fabrics over UCX, little-endian. UCX itself trusts the bytes on its connections; these checks tell
/// apart farms, restarted processes and connections that were given up, and limit all numbers that follow.
namespace anello::fabric {

static_assert(std::endian::native == std::endian::little);

enum class UcxKind : std::uint8_t {
    hello = 1,    ///< my number, the peer that I mean, the link that I know of it; body UcxHello
    message,      ///< in sequence; body: the caller's header
    signal,       ///< in sequence; body: the signal
    acknowledge,  ///< the listener has received all before `sequence`
    heartbeat,    ///< the sender is alive
    bye,          ///< the sender leaves
    word,         ///< may overtake all others; body: the caller's header
};

struct UcxHeader {
    std::uint64_t farm_id;
    std::uint64_t link;  ///< random number of the sender's connection
    std::uint32_t sequence;
    Peer sender;
    UcxKind kind;
    std::uint8_t body_bytes;
};
static_assert(sizeof(UcxHeader) == 24);

struct UcxHello {
    std::uint64_t sender_incarnation, receiver_incarnation;
    std::uint64_t heard_link;  ///< 0: none yet
    std::uint32_t is_up;
    std::uint32_t n_arrivals;        ///< how many messages may be in flight to the sender
    std::array<SocketName, 4> ends;  ///< of the TCP connections that the sender made to the receiver
};
static_assert(sizeof(UcxHello) == 64 && sizeof(UcxHello) <= max_header_bytes);

inline constexpr std::size_t max_ucx_header_bytes = sizeof(UcxHeader) + max_header_bytes;

/// Splits a message into its header and the `body` after it. Returns false if its lengths do not agree.
bool parse(std::span<const std::byte> bytes, UcxHeader& header, std::span<const std::byte>& body) noexcept;

/// Major and minor version of the loaded library. Other versions write addresses differently, and UCX 1.13 ends the
/// process when it reads an address of UCX 1.22.
std::uint64_t ucx_version() noexcept;

/// What address() returns: the identity of the fabric, and UCX's own address of its worker.
struct UcxAddress {
    std::uint64_t incarnation = 0;
    std::uint64_t host = 0;             ///< from host_number()
    std::vector<SocketName> listening;  ///< its listening sockets, if it uses TCP
    std::vector<std::byte> worker;
    std::uint64_t ucx_version = fabric::ucx_version();
};
/// Equal for processes that can share memory and a network, and different for all others. It is made from the running
/// system and the namespaces of network, shared memory and processes.
std::uint64_t host_number() noexcept;
std::vector<std::byte> encode(const UcxAddress& address, const FabricConfig& config);
/// Throws ConfigError if it is not the address of `peer` in this farm, or has another version of UCX.
UcxAddress decode_ucx_address(std::span<const std::byte> bytes, Peer peer, const FabricConfig& config);

/// What key() returns: a region, and UCX's own key to it.
struct UcxKey {
    std::uint64_t farm_id = 0, incarnation = 0;
    std::uint64_t address = 0, size_bytes = 0;
    std::vector<std::byte> remote_key;
};
std::vector<std::byte> encode(const UcxKey& key);
/// Throws ConfigError if it is no key of this farm, or is damaged.
UcxKey decode_ucx_key(std::span<const std::byte> bytes, std::uint64_t farm_id);

}  // namespace anello::fabric

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

/// What fabrics over UCX say to each other, little-endian. UCX itself believes what comes over its connections; these
/// checks keep apart farms, restarted processes and connections that were given up, and bound all that follows.
namespace anello::fabric {

static_assert(std::endian::native == std::endian::little);

enum class UcxKind : std::uint8_t {
    hello = 1,    ///< who I am, which peer I mean, which one I heard; body UcxHello
    message,      ///< in sequence; body: the caller's header
    signal,       ///< in sequence; body: the signal
    acknowledge,  ///< `sequence`: all before it were told to the listener
    heartbeat,    ///< I live
    bye,          ///< I leave
    word,         ///< passes by all others; body: the caller's header
};

struct UcxHeader {
    std::uint64_t farm_id;
    std::uint64_t link;  ///< number of the sender's connection, drawn by chance
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
    std::uint32_t n_arrivals;        ///< how many messages may be in flight to me
    std::array<SocketName, 4> ends;  ///< of TCP connections that I made to you
};
static_assert(sizeof(UcxHello) == 64 && sizeof(UcxHello) <= max_header_bytes);

inline constexpr std::size_t max_ucx_header_bytes = sizeof(UcxHeader) + max_header_bytes;

/// Takes the header apart; `body` is what lies behind it. False where its lengths do not agree.
bool parse(std::span<const std::byte> bytes, UcxHeader& header, std::span<const std::byte>& body) noexcept;

/// Of the library that runs: major, minor. Other versions write addresses otherwise, and UCX 1.13 that reads one of
/// UCX 1.22 ends the process.
std::uint64_t ucx_version() noexcept;

/// What address() gives: which fabric it is, and UCX's own address of its worker.
struct UcxAddress {
    std::uint64_t incarnation = 0;
    std::uint64_t host = 0;             ///< as host_number() gives it
    std::vector<SocketName> listening;  ///< its sockets, where it has TCP
    std::vector<std::byte> worker;
    std::uint64_t ucx_version = fabric::ucx_version();
};
/// The same for processes that can share memory and a network, and for no others: of the running system, and of the
/// namespaces of network, shared memory and processes.
std::uint64_t host_number() noexcept;
std::vector<std::byte> encode(const UcxAddress& address, const FabricConfig& config);
/// Throws ConfigError where it is not the address of `peer` in this farm, or of another version of UCX.
UcxAddress decode_ucx_address(std::span<const std::byte> bytes, Peer peer, const FabricConfig& config);

/// What key() gives: a region, and UCX's own key to it.
struct UcxKey {
    std::uint64_t farm_id = 0, incarnation = 0;
    std::uint64_t address = 0, size_bytes = 0;
    std::vector<std::byte> remote_key;
};
std::vector<std::byte> encode(const UcxKey& key);
/// Throws ConfigError where it is no key of this farm, or is damaged.
UcxKey decode_ucx_key(std::span<const std::byte> bytes, std::uint64_t farm_id);

}  // namespace anello::fabric

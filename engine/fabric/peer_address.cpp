// SPDX-License-Identifier: Apache-2.0
#include "fabric/peer_address.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <random>

#include "core/errors.hpp"

namespace anello::fabric {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t address_magic = 0x41464e41;  // "ANFA"
constexpr std::uint16_t address_version = 1;

struct Encoded {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t transport;
    std::uint64_t farm_id;
    std::uint64_t incarnation;
    std::uint32_t ipv4;
    std::uint16_t port;
    Peer peer;
    std::uint64_t max_message_bytes;
    std::uint32_t max_in_flight;
    std::uint32_t zero;
};
static_assert(sizeof(Encoded) == 48);

[[noreturn]] void refuse(const std::string& rule, const std::string& given, const std::string& remedy) {
    throw ConfigError("address", rule, given, remedy);
}

}  // namespace

PeerAddress make_address(const FabricConfig& config, std::uint64_t incarnation) {
    return {.transport = config.transport,
            .peer = config.self,
            .farm_id = config.farm_id,
            .incarnation = incarnation,
            .max_message_bytes = config.max_message_bytes,
            .max_in_flight = config.max_in_flight};
}

std::vector<std::byte> encode(const PeerAddress& address) {
    const Encoded encoded{.magic = address_magic,
                          .version = address_version,
                          .transport = static_cast<std::uint16_t>(address.transport),
                          .farm_id = address.farm_id,
                          .incarnation = address.incarnation,
                          .ipv4 = address.ipv4,
                          .port = address.port,
                          .peer = address.peer,
                          .max_message_bytes = address.max_message_bytes,
                          .max_in_flight = address.max_in_flight,
                          .zero = 0};
    std::vector<std::byte> bytes(sizeof encoded);
    std::memcpy(bytes.data(), &encoded, sizeof encoded);
    return bytes;
}

PeerAddress decode_address(std::span<const std::byte> bytes, Peer peer, const FabricConfig& config) {
    Encoded encoded{};
    if (bytes.size() == sizeof encoded) std::memcpy(&encoded, bytes.data(), sizeof encoded);
    if (encoded.magic != address_magic || encoded.version != address_version)
        refuse("must be what the peer's address() gave", fmt::format("{} bytes", bytes.size()),
               "All processes of a farm must run the same version");
    if (encoded.transport != static_cast<std::uint16_t>(config.transport))
        refuse(fmt::format("must be one of {}", name_of(config.transport)),
               fmt::format("transport number {}", encoded.transport), "Give all processes the same fabric.transport");
    if (encoded.farm_id != config.farm_id)
        refuse(fmt::format("must be of farm {:#x}", config.farm_id), fmt::format("{:#x}", encoded.farm_id),
               "Another run's process answered: give each run its own farm_id");
    if (peer >= config.n_peers || encoded.peer != peer)
        refuse(fmt::format("must be that of peer {} of {}", peer, config.n_peers), fmt::format("peer {}", encoded.peer),
               "Connect each peer by its own address");
    if (encoded.max_message_bytes != config.max_message_bytes || encoded.max_in_flight != config.max_in_flight)
        refuse(fmt::format("must be that of a peer with our limits, max_message_bytes {} and max_in_flight {}",
                           config.max_message_bytes, config.max_in_flight),
               fmt::format("{} and {}", encoded.max_message_bytes, encoded.max_in_flight),
               "Give all processes the same limits");
    return {config.transport, peer,         encoded.farm_id,           encoded.incarnation,
            encoded.ipv4,     encoded.port, encoded.max_message_bytes, encoded.max_in_flight};
}

std::uint64_t make_incarnation() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

}  // namespace anello::fabric

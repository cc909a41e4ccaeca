// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "core/words.hpp"
#include "fabric/fabric.hpp"
#include "fabric/fabric_counters.hpp"

namespace anello::fabric {

enum class Transport : std::uint8_t { ucx, tcp, udp };

const char* name_of(Transport transport) noexcept;

struct FabricConfig {
    // fabric_keys says what those mean that have no comment.
    Transport transport = Transport::ucx;
    Peer self = 0;
    std::uint16_t n_peers = 1;
    /// The same in all processes of one farm and in no other: peers that do not know it are refused.
    std::uint64_t farm_id = 0;
    std::size_t max_message_bytes = std::size_t{1} << 20;
    /// Messages and transfers to one peer that are not yet reported done; more find Status::busy.
    std::uint32_t max_in_flight = 64;
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    /// Asked of the system in each direction; 0: 512 KiB for tcp, more than a cache holds costs there, 4 MiB for udp,
    /// which loses what finds no room.
    std::size_t socket_buffer_bytes = 0;
    /// UDP payload of one datagram: 1472 fits an Ethernet MTU of 1500, 8972 one of 9000 (udp).
    std::size_t datagram_bytes = 1472;
    std::string ucx_tls;                          ///< empty: ucx_devices.hpp
    std::string ucx_net_devices;                  ///< empty: ucx_devices.hpp
    Nanoseconds heartbeat_ns = 200'000'000;       ///< interval at which peers are told that we are alive
    Nanoseconds peer_timeout_ns = 1'000'000'000;  ///< a peer suspended for less than this is not considered dead
    Nanoseconds connect_timeout_ns = 5'000'000'000;

    /// A peer that is silent for this long is down: before it was suspended it need not have sent anything for
    /// a heartbeat, and the message that it resumed is still on its way.
    Nanoseconds silence_ns() const noexcept { return peer_timeout_ns + 2 * heartbeat_ns; }
};

/// What a user may set is less than what a fabric can do, which check() says.
extern const Keys<FabricConfig> fabric_keys;
void check(const FabricConfig& config);  ///< Throws ConfigError; make_fabric() calls it.

/// Throws ConfigError, also when this build has no such transport, and SystemError.
std::unique_ptr<Fabric> make_fabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                    Counters<FabricCounter> counters);
/// make_fabric(), or what a test puts in its place.
using MakeFabric = std::function<decltype(make_fabric)>;

}  // namespace anello::fabric

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<fabric::Transport>{"ucx", "tcp", "udp"};

}  // namespace anello

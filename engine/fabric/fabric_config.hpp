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
    // fabric_keys explains the fields that have no comment here.
    Transport transport = Transport::ucx;
    Peer self = 0;
    std::uint16_t n_peers = 1;
    /// Equal in all processes of one farm and different in any other; a peer with another number is refused.
    std::uint64_t farm_id = 0;
    std::size_t max_message_bytes = std::size_t{1} << 20;
    /// Largest number of unfinished messages and transfers to one peer; a further one gets Status::busy.
    std::uint32_t max_in_flight = 64;
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    /// Buffer that is requested from the system in each direction. 0 requests 512 KiB for tcp, because more than a
    /// cache holds is slower there, and 4 MiB for udp, which loses datagrams that find no room.
    std::size_t socket_buffer_bytes = 0;
    /// UDP payload of one datagram (udp): 1472 bytes fit an Ethernet MTU of 1500, 8972 an MTU of 9000.
    std::size_t datagram_bytes = 1472;
    std::string ucx_tls;                          ///< empty: chosen by ucx_devices.hpp
    std::string ucx_net_devices;                  ///< empty: chosen by ucx_devices.hpp
    Nanoseconds heartbeat_ns = 200'000'000;       ///< interval at which this fabric shows its peers that it is alive
    Nanoseconds peer_timeout_ns = 1'000'000'000;  ///< a peer suspended for less than this is not considered dead
    Nanoseconds connect_timeout_ns = 5'000'000'000;

    /// A peer that is silent for this long is down. Two heartbeats are added: before it was suspended the peer may not
    /// have sent anything for one, and its first message after that is still on its way.
    Nanoseconds silence_ns() const noexcept { return peer_timeout_ns + 2 * heartbeat_ns; }
};

/// The ranges that a user may set; check() allows more, all that a fabric can do.
extern const Keys<FabricConfig> fabric_keys;
void check(const FabricConfig& config);  ///< Throws ConfigError; make_fabric() calls it.

/// Throws ConfigError, also if this build lacks the transport, and SystemError.
std::unique_ptr<Fabric> make_fabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                    Counters<FabricCounter> counters);
/// make_fabric(), or the function with which a test replaces it.
using MakeFabric = std::function<decltype(make_fabric)>;

}  // namespace anello::fabric

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<fabric::Transport>{"ucx", "tcp", "udp"};

}  // namespace anello
